//! Words as bytes, for the cache.

use super::{Word, Words};

impl Words {
    /// The words as bytes: flags, sizes, which slots are used, and what is in them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let flags = [self.launch_like, self.star_like, self.kernel_like, self.kernel_indexed];
        let flags = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
        let mut bytes = vec![flags];
        bytes.extend((self.slots.len() as u32).to_le_bytes());
        bytes.extend((self.renamed.len() as u32).to_le_bytes());
        for some in self.slots.chunks(64) {
            let used = some.iter().rev().fold(0_u64, |bits, slot| bits << 1 | u64::from(*slot != 0));
            bytes.extend(used.to_le_bytes());
        }
        bytes.extend(self.slots.iter().filter(|slot| **slot != 0).flat_map(|slot| slot.to_le_bytes()));
        let renamed = self.renamed.iter().flat_map(|(old, new)| [old.0, new.0]);
        bytes.extend(renamed.flat_map(u32::to_le_bytes));
        bytes
    }

    /// The words that [`Words::to_bytes`] gave these bytes for; none for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        let (sizes, rest) = rest.split_first_chunk::<8>()?;
        let [length, renamed] = [0, 4].map(|at| sizes[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four) as usize));
        if !(length == 0 || length.is_power_of_two()) {
            return None;
        }
        let (used, rest) = rest.split_at_checked(length.div_ceil(64) * 8)?;
        let mut values = rest.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four));
        let mut slots = vec![0; length].into_boxed_slice();
        let mut count = 0;
        for (index, bits) in used.as_chunks::<8>().0.iter().enumerate() {
            let mut bits = u64::from_le_bytes(*bits);
            count += bits.count_ones() as usize;
            while bits != 0 {
                *slots.get_mut(index * 64 + bits.trailing_zeros() as usize)? = values.next()?;
                bits &= bits - 1;
            }
        }
        if values.len() != renamed.checked_mul(2)? || count > 0 && count >= length {
            return None;
        }
        let values: Vec<u32> = values.collect();
        let flag = |bit: u8| flags >> bit & 1 == 1;
        Some(Self {
            slots,
            launch_like: flag(0),
            star_like: flag(1),
            kernel_like: flag(2),
            kernel_indexed: flag(3),
            renamed: values
                .as_chunks::<2>()
                .0
                .iter()
                .map(|[old, new]| (Word(*old), Word(*new)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_from_their_bytes() {
        let many: String = (0..5000).map(|i| format!("import a{i} as b{i}\n")).collect();
        for text in ["", "x", "k[grid](kernels[0])\nfrom a import *\nimport b as c\n", &many] {
            let words = Words::of(text);
            let bytes = words.to_bytes();
            assert_eq!(Words::from_bytes(&bytes), Some(words));
            for end in (0..bytes.len()).step_by(bytes.len().div_ceil(200)) {
                assert_eq!(Words::from_bytes(&bytes[..end]), None, "{end} of {}", bytes.len());
            }
        }
        assert_eq!(Words::from_bytes(&Words::default().to_bytes()), Some(Words::default()));
    }
}
