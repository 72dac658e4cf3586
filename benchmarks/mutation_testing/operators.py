"""Small deliberate errors: every place of a module where one can be made, and the module with one of them.

A mutant is one change of the syntax tree: a number, a comparison, a sign, ``max`` for ``min``, a loop that looks at
its first element only, a left side that is 0, a returned number that is doubled. Docstrings, annotations, imports and
the words of an error are left alone: no result depends on them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

Change = tuple[str, ast.AST]

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "argmax": "argmin",
    "argmin": "argmax",
    "all": "any",
    "any": "all",
    "sum": "max",
    "cumsum": "copy",
    "floor": "ceil",
    "ceil": "floor",
}
IDENTITIES = {"sqrt", "log", "exp", "abs", "log1p", "expm1"}
FORGIVEN = {"tolerance", "rounding", "atol", "rtol", "xtol", "tight", "exact"}
"""Keywords that say how much rounding is forgiven; ten times as much is no error, a million times is."""


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what it says, and the whole changed module."""

    line: int
    before: str
    after: str
    source: str

    @property
    def change(self) -> str:
        """``before -> after``, on one line."""
        return f"{self.before} -> {self.after}"


def mutants(source: str, lines: Container[int] | None = None) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its lines; or only those on some lines, which takes less time.

    >>> [mutant.change for mutant in mutants("def f(x):\\n    return x + 2\\n")]
    ['x + 2 -> x - 2', '2 -> 3', '2 -> 1']
    """
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    places = [node for node in ast.walk(tree) if not _is_words(node, parents)]
    seen = {ast.unparse(tree)}
    for node in sorted(places, key=_position):
        if lines is not None and _position(node)[0] not in lines:
            continue
        for text, changed in _changes(node, parents):
            mutated = _with(tree, node, changed)
            if mutated not in seen:
                seen.add(mutated)
                yield Mutant(_position(node)[0], _short(node), text, mutated)


def _position(node: ast.AST) -> tuple[int, int]:
    """Line and column; a ``for`` inside brackets has none of its own, but its target has."""
    placed = node.target if isinstance(node, ast.comprehension) else node
    return getattr(placed, "lineno", 1), getattr(placed, "col_offset", 0)


def _with(tree: ast.Module, old: ast.AST, new: ast.AST) -> str:
    """The module's source with one node replaced; the tree itself stays as it is."""

    def copied(node: ast.AST) -> ast.AST:
        if node is old:
            return new
        clone = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(clone, name, copied(value))
            elif isinstance(value, list):
                setattr(clone, name, [copied(item) if isinstance(item, ast.AST) else item for item in value])
        return clone

    return ast.unparse(ast.fix_missing_locations(copied(tree)))


def _is_words(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Is this in an annotation, an error's sentence, an f-string, an import or a decorator?"""
    while node in parents:
        above = parents[node]
        if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)) or isinstance(above, ast.Raise):
            return True
        if node in (getattr(above, "annotation", None), getattr(above, "returns", None)):
            return True
        if node in getattr(above, "decorator_list", ()):
            return True
        node = above
    return False


def _changes(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[Change]:
    for kind in (_number, _comparison, _arithmetic, _truth, _call, _loop, _check, _statement, _returned):
        for changed in kind(node, parents):
            yield _short(changed), changed


Kind = Callable[[ast.AST, dict[ast.AST, ast.AST]], Iterator[ast.AST]]


def _number(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float, bool):
        return
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)
    elif value == 0.0:
        yield ast.Constant(1.0)
    elif _is_forgiven(node, parents):
        yield ast.Constant(value * 1e6)
    else:
        yield ast.Constant(value * 10.0)
        yield ast.Constant(value * 0.5)


def _is_forgiven(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.keyword):
            return node.arg in FORGIVEN
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id.lower() in FORGIVEN for target in targets):
            return True
    return False


def _comparison(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                operators = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                yield ast.Compare(node.left, operators, node.comparators)


def _arithmetic(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not isinstance(node.left, ast.JoinedStr):
        if not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)):
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand


def _truth(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse


def _call(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """``max`` for ``min``, ``max`` for ``sum``, no root, no logarithm."""
    if not isinstance(node, ast.Call):
        return
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in NAMES:
        extra = [*node.keywords]
        if name == "sum" and isinstance(node.func, ast.Name):
            extra.append(ast.keyword("default", ast.Constant(0)))
        func: ast.expr = ast.Name(NAMES[name])
        if isinstance(node.func, ast.Attribute):
            func = ast.Attribute(node.func.value, NAMES[name])
        yield ast.Call(func, node.args, extra)
    if name in IDENTITIES and len(node.args) == 1 and not node.keywords:
        yield node.args[0]


def _loop(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """Only the first element is looked at."""
    first = ast.Slice(None, ast.Constant(1), None)
    if isinstance(node, ast.For):
        listed = ast.Subscript(ast.Call(ast.Name("list"), [node.iter], []), first)
        yield ast.For(node.target, listed, node.body, node.orelse)
    elif isinstance(node, ast.comprehension):
        listed = ast.Subscript(ast.Call(ast.Name("list"), [node.iter], []), first)
        yield ast.comprehension(node.target, listed, node.ifs, node.is_async)


def _check(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """``Check(statement, label, left, right)``: a left side that is 0, a right side ten times too large."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Check"):
        return
    if len(node.args) < 4:
        return
    text, label, left, right = node.args[:4]
    yield ast.Call(node.func, [text, label, ast.Constant(0.0), right], node.keywords)
    tenfold = ast.BinOp(ast.Constant(10.0), ast.Mult(), right)
    yield ast.Call(node.func, [text, label, left, tenfold], node.keywords)


def _statement(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """A sum that is not added to, a refusal that never comes, a bare call that is left out."""
    if isinstance(node, ast.AugAssign):
        yield ast.Pass()
    elif isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Raise, ast.Return, ast.Continue)):
        yield ast.If(ast.Constant(False), node.body, node.orelse)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def _returned(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """A returned number or array, doubled."""
    if isinstance(node, ast.Return) and node.value is not None:
        above = parents[node]
        while not isinstance(above, (ast.FunctionDef, ast.Lambda)):
            above = parents[above]
        if isinstance(above, ast.FunctionDef) and above.returns and ast.unparse(above.returns) in ("float", "Array"):
            yield ast.Return(ast.BinOp(ast.Constant(2.0), ast.Mult(), node.value))


def _short(node: ast.AST) -> str:
    lines = ast.unparse(ast.fix_missing_locations(node)).strip().splitlines()
    return lines[0] + (" ..." if len(lines) > 1 else "") if lines else ""
