"""Lets a project's modules be imported where much that they need is not installed.

A module that is missing is stood in for by an empty one with every attribute; a module of the project that fails
while it is imported likewise, unless it was asked for by name. What was stood in for is told in ``STOOD_IN``.
An import that the code itself guards (in a ``try`` with handlers, or ``find_spec``) fails as it would anyhow.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import pathlib
import sys
import types

STOOD_IN = {}  # module -> why
ASKED_FOR = set()


class AbsentType(type):
    """What an absent module holds: a class to derive from, a decorator that changes nothing, a value without elements."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.__qualname__}.{name}")

    def __call__(cls, *args, **kwargs):
        if "_absent" not in cls.__dict__:
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        return absent(cls.__qualname__)

    def __getitem__(cls, item):
        return cls

    def __iter__(cls):
        return iter(())

    def __len__(cls):
        return 0

    def __bool__(cls):
        return "_absent" not in cls.__dict__

    def __contains__(cls, item):
        return False

    def __lt__(cls, other):
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __enter__(cls):
        return cls

    def __exit__(cls, *error):
        return None


def absent(name):
    ignore = classmethod(lambda cls, **keywords: None)
    init = lambda self, *args, **kwargs: None
    members = {"_absent": True, "__module__": "absent", "__init_subclass__": ignore, "__init__": init}
    return AbsentType(name.rpartition(".")[2], (), members)


class AbsentModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, absent(f"{self.__name__}.{name}"))
        return self.__dict__[name]


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last of the finders: nobody else found it."""

    def __init__(self, root):
        self.root = str(root)

    def find_spec(self, name, path, target=None):
        file, guarded = importer()
        top = name.partition(".")[0]
        if guarded or (pathlib.Path(self.root) / top).exists():
            return None
        if not file.startswith(self.root) and not isinstance(sys.modules.get(name.rpartition(".")[0]), AbsentModule):
            return None
        STOOD_IN[name] = "not installed"
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return AbsentModule(spec.name)

    def exec_module(self, module):
        pass


class Failing(importlib.abc.MetaPathFinder):
    """First of the finders: the project's own modules."""

    def __init__(self, root):
        self.root = str(root)

    def find_spec(self, name, path, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None or not str(spec.origin).startswith(self.root):
            return None
        execute, (_, guarded) = spec.loader.exec_module, importer()

        def exec_module(module):
            try:
                execute(module)
            except BaseException as error:
                if guarded or name in ASKED_FOR:
                    raise
                STOOD_IN[name] = f"{type(error).__name__}: {str(error):.120}"
                module.__class__ = AbsentModule

        spec.loader.exec_module = exec_module
        return spec


def importer():
    """The file that imports, and whether its import is guarded."""
    frame = sys._getframe(1)
    while frame:
        file = frame.f_code.co_filename
        if file == importlib.util.__file__:
            return file, True
        if "importlib" not in file and file != __file__:
            return file, any(first <= frame.f_lineno <= last for first, last in guarded_lines(file))
        frame = frame.f_back
    return "", False


def guarded_lines(file, seen={}):
    if file not in seen:
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except SyntaxError:
            tree = ast.Module([], [])
        guards = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers]
        seen[file] = [(node.body[0].lineno, node.body[-1].end_lineno) for node in guards]
    return seen[file]


def install(root):
    sys.path.insert(0, str(root))
    sys.meta_path.insert(0, Failing(root))
    sys.meta_path.append(Missing(root))
