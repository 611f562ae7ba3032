"""Records what torch's infer_schema and define say of many signatures: tests/data/schemas.json.

    python scripts/schema_table.py            # once per torch version; rows of other versions are kept

A row is a module with a function `f`. For each version: the schema, or why infer_schema refuses it, or why define refuses the schema.
"""

import json
import os
import pathlib
import sys
import types

import torch

TABLE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "schemas.json"
VERSION = ".".join(torch.__version__.split("+")[0].split(".")[:2])

PLAIN = (
    "import collections.abc\nimport typing\nimport torch\nfrom torch import Tensor\n"
    "from typing import Annotated, Any, Callable, Dict, Final, Iterable, List, Literal, Mapping, NoReturn, Optional, Sequence, Tuple, Union\n"
)

ANNOTATIONS = """
Tensor | torch.Tensor | Optional[Tensor] | Optional[torch.Tensor] | Union[Tensor, None] | Union[None, Tensor] | torch.Tensor @ None | None @ Tensor
List[Tensor] | Sequence[Tensor] | list[Tensor] | collections.abc.Sequence[Tensor] | typing.List[Tensor] | list["Tensor"] | List["Tensor"]
Optional["Tensor"] | List[Optional[Tensor]] | Sequence[Optional[Tensor]] | list[Optional[Tensor]] | list[Tensor @ None]
Optional[List[Tensor]] | Optional[Sequence[Tensor]] | list[Tensor] @ None | Optional[list[Tensor]] | Optional[List[Optional[Tensor]]]
list[Tensor @ None] @ None | int | float | bool | str | Optional[int] | int @ None | Optional[float] | Optional[bool] | Optional[str] | str @ None
List[int] | Sequence[int] | list[int] | List[float] | List[bool] | list[bool] | Sequence[float] | collections.abc.Sequence[int] | List[str] | list[str]
Optional[List[int]] | Optional[Sequence[int]] | list[int] @ None | Optional[List[float]] | Optional[List[bool]] | List[Optional[int]] | List[List[int]]
torch.types.Number | Union[int, float, bool] | int @ float @ bool | Union[bool, int, float] | Optional[torch.types.Number] | Union[int, float, bool, None]
List[torch.types.Number] | Optional[List[torch.types.Number]] | Union[int, float] | int @ float | Union[Tensor, int] | Tensor @ int | Tensor @ float @ None
torch.dtype | torch.device | Optional[torch.dtype] | torch.dtype @ None | Optional[torch.device] | List[torch.dtype] | torch.types.Device
Union[torch.device, str] | torch.Generator | Optional[torch.Generator] | torch.distributed.ProcessGroup | torch.Size | torch.SymInt | Union[int, torch.SymInt]
torch.layout | torch.memory_format | torch.Stream | torch.cuda.Stream | torch.nn.Parameter | torch.FloatTensor | torch.LongTensor | torch.nn.Module | tuple | Tuple
list | List | tuple[int, int] | Tuple[int, ...] | Tuple[Tensor, Tensor] | Tuple[int] | dict | Dict[str, Tensor] | Callable | Any | object | None | bytes
complex | Literal["a", "b"] | Iterable[Tensor] | type | Sequence | Optional[Any] | Annotated[Tensor, "x"] | Final[int] | set[int] | Mapping[str, int]
Optional[Optional[Tensor]] | Union[Tensor] | Union[Optional[Tensor], None] | Optional[Union[int, float, bool]] | Sequence[Sequence[int]] | Optional[tuple[int, int]]
"torch.Tensor" | "Tensor" | "Optional[Tensor]" | "List[Tensor]" | "list[Tensor]" | "Tensor @ None" | "int" | "torch.dtype" | "list['Tensor']" | "None"
"""

RETURNS = """
None | "None" | Tensor | torch.Tensor | Tuple[Tensor, Tensor] | tuple[Tensor, Tensor] | "tuple[Tensor, Tensor]" | tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Tuple[Tensor] | tuple[Tensor] | Tuple[()] | List[Tensor] | list[Tensor] | int | float | bool | torch.types.Number | Union[int, float, bool] | Tuple[Tensor, int]
Tuple[Tensor, List[Tensor]] | tuple[Tensor, list[Tensor]] | Tuple[int, float, bool] | Optional[Tensor] | Tensor @ None | Tuple[Tensor, Optional[Tensor]]
Tuple[Tensor, ...] | tuple[Tensor, ...] | tuple | Tuple | Sequence[Tensor] | Tuple[Tensor, Tuple[Tensor, Tensor]] | Union[Tensor, Tuple[Tensor, Tensor]]
List[int] | str | dict | Any | torch.dtype | torch.Size | type(None) | NoReturn | Tuple["Tensor", "Tensor"] | tuple["Tensor", "Tensor"] | torch.nn.Parameter
list["Tensor"] | List[Optional[Tensor]] | Dict[str, Tensor] | "Tensor" | "Tuple[Tensor, Tensor]" | torch.device | torch.Generator
"""

# annotation = default
DEFAULTS = """
int = 1 | int = -1 | int = 0x10 | int = 1_000 | int = 2**20 | int = 1 << 4 | int = 9223372036854775807 | int = 9223372036854775808 | int = True | int = None
int = 3.5 | float = 1.0 | float = 1e-6 | float = 1e-05 | float = 0.00001 | float = 1e16 | float = 123456789.0 | float = 1e-4 | float = .5 | float = 1. | float = 1e22
float = -0.0 | float = 1 | float = -1.5 | float = float("inf") | float = float("-inf") | float = float("nan") | float = None | float = True | bool = True | bool = False
bool = 1 | bool = None | bool = 0 | str = "none" | str = "" | str = 'a"b' | str = "a\\nb" | str = "a\\\\b" | str = "it's" | str = None | Optional[int] = None | Optional[int] = 3
Optional[float] = 1.5 | Optional[str] = None | Optional[str] = "x" | Optional[Tensor] = None | Tensor @ None = None | Tensor = None | List[int] = None
Optional[List[int]] = None | List[int] = [1] | List[int] = () | Optional[List[int]] = [1, 2] | torch.dtype = torch.float32 | torch.dtype = torch.bfloat16
torch.dtype = None | Optional[torch.dtype] = None | Optional[torch.dtype] = torch.half | torch.device = torch.device("cpu") | torch.device = torch.device("cuda", 1)
torch.device = "cuda" | torch.device = None | Optional[torch.device] = None | torch.types.Number = 1 | torch.types.Number = 1.5 | torch.types.Number = True
torch.types.Number = None | Optional[torch.types.Number] = 2 | int = "x" | str = 1 | float = "x" | bool = "x" | Tensor = 1 | int = 1j | int = int | int = print
Tensor = torch.zeros(1) | int = {} | float = 1e400 | float = math.inf | float = math.pi | float = -math.inf | int = -9223372036854775808 | List[float] = 1.0 | List[int] = 1
int = LIMIT | float = EPS | str = MODE | int = Level.LOW | str = Color.RED | int = Flag.A | torch.dtype = DTYPE | int = LIMIT * 2 | float = EPS / 2 | int = len("abc")
int = max(1, 2) | float = np.float64(0.5) | int = np.int64(3) | str = f"a{1}" | float = 3.4028234663852886e38 | float = 2.2250738585072014e-308 | int = not True
Optional[bool] = None | Optional[bool] = False | Optional[Tensor] = 1 | Sequence[int] = None | Optional[Sequence[Tensor]] = None | Optional[List[Tensor]] = None
Optional[List[int]] = 1 | Optional[torch.device] = 1 | torch.device = 1 | Tensor = "x" | Tensor = True | Optional[Tensor] = "x" | List[Tensor] = None | List[int] = "x"
List[Optional[Tensor]] = None | torch.dtype = 1 | torch.dtype = "float32" | torch.types.Number = "x" | float = 9223372036854775808 | torch.types.Number = 9223372036854775808
Optional[int] = 9223372036854775808 | str = torch.float32 | int = torch.float32 | bool = 1.5 | float = torch.float32 | str = 1.5 | str = True | torch.device = True
Optional[float] = float("inf") | float = -(1e-3) | int = +3 | int = ~0 | int = 7 // 2 | int = 7 % 4 | float = 1 / 3 | int = 0b101 | int = 0o17 | float = 1_0.5e1
"""

DEFAULT_PRELUDE = (
    PLAIN
    + "import enum\nimport math\nimport numpy as np\nLIMIT = 128\nEPS = 1e-6\nMODE = 'fast'\nDTYPE = torch.float16\n"
    + "class Level(enum.IntEnum):\n    LOW = 1\n    HIGH = 2\nclass Color(enum.Enum):\n    RED = 'red'\nclass Flag(enum.IntFlag):\n    A = 1\n"
)

# Whole modules: kinds of parameters, names, scopes, several parameters.
MODULES = [
    PLAIN + "def f(x: Tensor, n: int, eps: float = 1e-6) -> Tensor: ...\n",
    PLAIN + "def f(x: Tensor, *, n: int) -> None: ...\n",
    PLAIN + "def f(x: Tensor, *, out: Tensor) -> None: ...\n",
    PLAIN + "def f(x: Tensor, *, a: int = 1, b: Optional[Tensor] = None) -> Tensor: ...\n",
    PLAIN + "def f(*, a: int) -> int: ...\n",
    PLAIN + "def f(x: Tensor, /) -> None: ...\n",
    PLAIN + "def f(x: Tensor, /, y: Tensor) -> None: ...\n",
    PLAIN + "def f(*xs: Tensor) -> None: ...\n",
    PLAIN + "def f(x: Tensor, **kwargs: int) -> None: ...\n",
    PLAIN + "def f(x: Tensor, y) -> None: ...\n",
    PLAIN + "def f(x, y): ...\n",
    PLAIN + "def f(x: Tensor): ...\n",
    PLAIN + "def f() -> None: ...\n",
    PLAIN + "def f(self: Tensor, out: Tensor, dtype: torch.dtype, inf: int, type: str) -> Tensor: ...\n",
    PLAIN + "def f(a: Tensor, b: Optional[Tensor], c: List[Tensor], d: List[Optional[Tensor]]) -> None: ...\n",
    "import torch as th\ndef f(x: th.Tensor, y: 'th.Tensor') -> th.Tensor: ...\n",
    "from torch import Tensor as T\ndef f(x: T, y: 'T') -> T: ...\n",
    "import torch\nT = torch.Tensor\ndef f(x: T) -> T: ...\n",
    "import torch\nT = torch.Tensor\ndef f(x: 'T') -> 'T': ...\n",
    "from __future__ import annotations\nimport torch\ndef f(x: T) -> T: ...\nT = torch.Tensor\n",
    "from __future__ import annotations\nimport torch\nfrom torch import Tensor\ndef f(x: Tensor, y: torch.Tensor) -> Tensor: ...\n",
    "from __future__ import annotations\nimport torch\ndef f(x: torch.Tensor | None, y: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]: ...\n",
    "from __future__ import annotations\nimport torch\ndef f(x: torch.Tensor, n: int, e: float = 1.0) -> None: ...\n",
    "from __future__ import annotations\nimport torch\ndef f(x: list['torch.Tensor']) -> None: ...\n",
    "from __future__ import annotations\nimport torch as th\ndef f(x: th.Tensor) -> th.Tensor: ...\n",
    "from __future__ import annotations\ndef f(x: Tensor) -> Tensor: ...\n",
    "from __future__ import annotations\nimport torch\ndef f(x: Optional[torch.Tensor]) -> None: ...\n",
    "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import Tensor\ndef f(x: Tensor) -> Tensor: ...\n",
    "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\ndef f(x: torch.Tensor) -> torch.Tensor: ...\n",
    "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch as th\ndef f(x: th.Tensor) -> None: ...\n",
    "import torch\ndef f(x: 'Missing') -> None: ...\n",
    "import torch\ndef outer():\n    from torch import Tensor\n    def g(x: Tensor) -> Tensor: ...\n    return g\nf = outer()\n",
    "import torch\ndef outer():\n    from torch import Tensor\n    def g(x: 'Tensor') -> 'Tensor': ...\n    return g\nf = outer()\n",
    "import torch\ndef outer():\n    T = torch.Tensor\n    def g(x: 'T') -> None: ...\n    return g\nf = outer()\n",
    "import torch\nimport enum\nclass Kind(enum.Enum):\n    A = 1\ndef f(x: torch.Tensor, k: Kind) -> None: ...\n",
    "import torch\nfrom enum import IntEnum\nclass Kind(IntEnum):\n    A = 1\ndef f(x: torch.Tensor, k: Kind = Kind.A) -> None: ...\n",
    "import torch\nclass Config: ...\ndef f(x: torch.Tensor, c: Config) -> None: ...\n",
    "import torch\nimport dataclasses\n@dataclasses.dataclass\nclass Config:\n    n: int\ndef f(x: torch.Tensor, c: Config) -> None: ...\n",
    "import torch\nclass Special(torch.Tensor): ...\ndef f(x: Special) -> None: ...\n",
    "import torch\nfrom typing import NewType\nName = NewType('Name', str)\ndef f(x: torch.Tensor, n: Name) -> None: ...\n",
    "import torch\nfrom typing import TypeVar\nT = TypeVar('T')\ndef f(x: T) -> T: ...\n",
    "import torch\nfrom typing import NamedTuple\nclass P(NamedTuple):\n    x: torch.Tensor\ndef f(x: torch.Tensor) -> P: ...\n",
    "import torch\nfrom typing import Optional\nMaybe = Optional[torch.Tensor]\ndef f(x: Maybe, y: 'Maybe' = None) -> None: ...\n",
    "import torch\nLayerName = str\ndef f(x: torch.Tensor, n: LayerName) -> None: ...\n",
    "import torch\nimport typing as t\ndef f(x: t.Optional[torch.Tensor], y: t.List[int]) -> t.Tuple[torch.Tensor, torch.Tensor]: ...\n",
    "import torch\nimport numpy as np\ndef f(x: np.ndarray) -> None: ...\n",
    "import torch\nimport numbers\ndef f(x: numbers.Number) -> None: ...\n",
    "import torch\ndef f(x: torch.Tensor, n: int = torch.iinfo(torch.int32).max) -> None: ...\n",
    "import torch\nfrom torch.types import Number\ndef f(x: torch.Tensor, n: Number = 0) -> None: ...\n",
    "import torch\nfrom torch import dtype, device\ndef f(d: dtype, e: device) -> torch.Tensor: ...\n",
    "import torch\nimport sys\ndef f(n: int = sys.maxsize) -> torch.Tensor: ...\n",
    "import torch\nx: 'int' = 3\ndef f(n: int = x, m: float = -x) -> torch.Tensor: ...\n",
    "import torch\ntry:\n    from torch import Tensor\nexcept ImportError:\n    Tensor = None\ndef f(x: Tensor) -> Tensor: ...\n",
    "import torch\nasync def f(x: torch.Tensor) -> torch.Tensor: ...\n",
    "import torch\ndef f(a: torch.Tensor, b: torch.Tensor, c: 'torch.Tensor', d: int = 0, *, e: bool = False, g: str = 'x') -> 'torch.Tensor': ...\n",
    "import torch\nf = lambda x: x\n",
]


def modules():
    for text in filter(None, (t.strip() for line in ANNOTATIONS.splitlines() for t in line.split(" | "))):
        yield PLAIN + f"def f(x: {text.replace(' @ ', ' | ')}) -> None: ...\n"
    for text in filter(None, (t.strip() for line in RETURNS.splitlines() for t in line.split(" | "))):
        yield PLAIN + f"def f(x: Tensor) -> {text.replace(' @ ', ' | ')}: ...\n"
    for text in filter(None, (t.strip() for line in DEFAULTS.splitlines() for t in line.split(" | "))):
        yield DEFAULT_PRELUDE + f"def f(a: {text.replace(' @ ', ' | ')}) -> Tensor: ...\n"
    yield from MODULES


def judge(source, number):
    module = types.ModuleType(f"row{number}")
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, module.__name__, "exec"), module.__dict__)
    except Exception as error:
        return {"import": f"{type(error).__name__}: {error}".splitlines()[0]}
    result = {}
    try:
        result["schema"] = torch.library.infer_schema(module.f, mutates_args=())
        result["mutating"] = torch.library.infer_schema(module.f, mutates_args="unknown")
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    library = torch.library.Library("schema_table", "FRAGMENT")
    try:
        library.define(f"row{number}" + result["schema"])
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        result["define"] = f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]
    return result


def main():
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    old = {row["source"]: row for row in json.loads(TABLE.read_text())} if TABLE.exists() else {}
    rows = []
    for number, source in enumerate(dict.fromkeys(modules())):
        row = {"source": source, **{k: v for k, v in old.get(source, {}).items() if k != "source"}}
        row[VERSION] = judge(source, number)
        rows.append(dict(sorted(row.items(), key=lambda item: (item[0] != "source", item[0]))))
    TABLE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    print(len(rows), "rows;", sum("schema" in r[VERSION] for r in rows), "schemas;", sum("define" in r[VERSION] for r in rows), "define refuses")


if __name__ == "__main__":
    main()
