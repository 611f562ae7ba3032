//! One page without network: a bar, an icicle, a table with details. What it shows is data; `page.js` draws it.

use serde::Serialize;

/// All that a page shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// What it is of.
    pub title: String,
    /// A line below.
    pub subtitle: String,
    /// The figure that matters most, and what it is.
    pub headline: (String, String),
    /// What things are sorted into, in order.
    pub classes: Vec<ClassOf>,
    /// One bar, or two to compare.
    pub bars: Vec<Bar>,
    /// Parts of the whole.
    pub tree: Option<Node>,
    /// What the table is of.
    pub table_title: String,
    /// Columns of the table.
    pub columns: Vec<Column>,
    /// Rows of the table, in the order in which they are shown first.
    pub rows: Vec<Row>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// A class with its colour.
#[derive(Clone, Debug, Serialize)]
pub struct ClassOf {
    /// Its key in rows and nodes.
    pub key: &'static str,
    /// For people.
    pub title: &'static str,
    /// How it is coloured.
    pub tone: Tone,
    /// What it means.
    pub about: &'static str,
}

/// Colours by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// As it should be.
    Good,
    /// Neither.
    Info,
    /// To be looked at.
    Warn,
    /// To be changed.
    Bad,
    /// Nothing is known.
    Mute,
}

/// A bar of parts.
#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    /// Its name, where there are several.
    pub name: String,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// A part of a bar.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Its class.
    pub class: &'static str,
    /// How large.
    pub value: f64,
    /// The value for people.
    pub label: String,
    /// How many.
    pub count: String,
}

/// A part of the whole with its parts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its class, if it has just one.
    pub class: &'static str,
    /// How large; the parts' sum or more.
    pub value: f64,
    /// The value for people.
    pub label: String,
    /// Its parts, the largest first.
    pub parts: Vec<Node>,
}

/// A column.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Its head.
    pub title: &'static str,
    /// Numbers stand right and are sorted the largest first.
    pub number: bool,
}

/// A row.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// Its class.
    pub class: &'static str,
    /// A cell per column.
    pub cells: Vec<Cell>,
    /// What opens below it.
    pub details: Vec<Detail>,
}

/// A cell: what is shown, and what is sorted by, if that differs.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Shown.
    pub text: String,
    /// Sorted by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            value: None,
        }
    }

    /// A number.
    pub fn number(text: impl Into<String>, value: f64) -> Self {
        Self {
            text: text.into(),
            value: Some(value),
        }
    }
}

/// Something that is told below a row.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Detail {
    /// A sentence.
    Text {
        /// What it is.
        title: String,
        /// It.
        text: String,
    },
    /// Lines of a file.
    Code {
        /// Where it stands.
        title: String,
        /// The number of the first line.
        first: u32,
        /// The line that matters.
        mark: u32,
        /// The lines.
        text: String,
    },
    /// A unified diff.
    Diff {
        /// What it does.
        title: String,
        /// It.
        text: String,
    },
}

impl Detail {
    /// A sentence.
    pub fn text(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text {
            title: title.into(),
            text: text.into(),
        }
    }
}

/// The page as one file.
pub fn render(page: &Page) -> String {
    let data = serde_json::to_string(page).expect("pages have string keys only");
    // Inside a script element only `</` and `<!--` could end the data.
    let data = data.replace('<', "\\u003c");
    let mut out = String::new();
    let mut rest = include_str!("page.html");
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        out.push_str(before);
        match name {
            "title" => out.push_str(&escape(&page.title)),
            "version" => out.push_str(env!("CARGO_PKG_VERSION")),
            "style" => out.push_str(include_str!("page.css")),
            "script" => out.push_str(include_str!("page.js")),
            _ => out.push_str(&data),
        }
        rest = after;
    }
    out + rest
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_data_can_leave_its_element_and_nothing_is_fetched() {
        let page = Page {
            title: "</title><script>alert(1)</script>".into(),
            notes: vec!["</script><script>alert(2)</script><!--".into(), "{{script}}".into()],
            ..Page::default()
        };
        let html = render(&page);
        assert!(!html.contains("alert(1)</script>") && !html.contains("</script><script>alert(2)"));
        assert_eq!(html.matches("</script>").count(), 2);
        let names = ["http:", "https:", "//cdn", "@import", "src=", "fetch(", "XMLHttpRequest", "url("];
        for name in names {
            assert!(!html.contains(name), "{name}");
        }
        assert!(html.contains(r"\u003c/script>\u003cscript>alert(2)"));
    }
}
