"""Follow a program as a careful reader does: which file each frame came from, which columns it has, what is fitted on what.

The reader keeps to what it can see. Whatever it cannot follow is None, and a check that needs it stays silent.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from rubrics_gym.providers.simulated.judge.reading import Reading
from rubrics_gym.providers.simulated.judge.story import ColumnUse, Frame, Model, Names, Story, Use
from rubrics_gym.providers.simulated.judge.syntax import called, keyword, words

_SAME_COLUMNS = {
    "copy", "query", "sample", "sort_values", "sort_index", "reset_index", "head", "tail", "drop_duplicates", "round", "clip",
    "replace", "infer_objects", "convert_dtypes", "reindex", "set_index", "nlargest", "nsmallest", "where", "mask", "truncate",
}  # fmt: skip
_FILLING = {"fillna", "dropna", "ffill", "bfill", "interpolate"}
_FILLERS = {"SimpleImputer", "KNNImputer", "IterativeImputer", "nan_to_num", "isna", "isnull", "notna", "notnull"}
_ENCODERS = {"OneHotEncoder", "OrdinalEncoder", "LabelEncoder", "TargetEncoder", "get_dummies", "factorize", "codes", "map", "to_numeric"}
_READERS = {"read_csv", "read_table", "read_json", "read_parquet", "read_excel", "read_pickle", "read_feather", "loadtxt", "genfromtxt"}
_PATH_READERS = {"read_text", "read_bytes"}
_WRITERS = {"to_csv", "to_json", "to_parquet", "to_excel", "to_pickle", "savetxt", "savefig"}
_PATH_WRITERS = {"write_text", "write_bytes", "touch"}
_DEPTH = 3  # calls into the program's own functions that are followed


def follow(tree: ast.Module, reading: Reading) -> Story:
    """Walk the statements once; loops once, both branches of an `if`, functions where they are called."""
    follower = _Follower(reading)
    follower.functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    follower.walk(tree.body)
    for function in follower.functions.values():
        if function.name not in follower.entered:
            follower.walk(function.body)
    return follower.story


class _Follower:
    def __init__(self, reading: Reading):
        self.reading = reading
        self.story = Story()
        self.names: dict[str, Any] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.entered: set[str] = set()
        self.depth = 0
        self.returned: Any = None

    # ------------------------------------------------------------ statements

    def walk(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                result = self.value(value)
                for target in targets:
                    self.assign(target, result, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.assign(target, self.value(value), value)
            case ast.AugAssign(target=target, value=value):
                self.value(value)
                self.assign(target, None, value)
            case ast.Return(value=value):
                self.returned = None if value is None else self.value(value)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                pass
            case ast.With(items=items, body=body):
                for item in items:
                    self.value(item.context_expr)
                self.walk(body)
            case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
                self.value(iterated)
                self.assign(target, None, None)
                self.walk(body + orelse)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)
                    elif isinstance(child, ast.stmt):
                        self.statement(child)
                    elif isinstance(child, ast.ExceptHandler):
                        self.walk(child.body)

    def assign(self, target: ast.expr, result: Any, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = result
            case ast.Subscript(value=ast.Name(id=name), slice=key) if isinstance(self.names.get(name), Frame):
                self.names[name] = self.changed(self.names[name], self.value(key), result, value)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts = result if isinstance(result, tuple) and len(result) == len(elements) else [None] * len(elements)
                for element, part in zip(elements, parts, strict=True):
                    self.assign(element, part, value)

    def changed(self, frame: Frame, key: Any, result: Any, value: ast.expr | None) -> Frame:
        """The frame after `frame[key] = value`."""
        named = frozenset([key]) if isinstance(key, str) else key.parts if isinstance(key, Names) else None
        named_in = words(value)
        clean = bool(named_in & (_FILLING | _FILLERS)) or (isinstance(result, Frame) and not result.missing)
        coded = bool(named_in & (_ENCODERS | {"astype"})) or (isinstance(result, Frame) and not result.text)
        return replace(
            frame,
            columns=None if frame.columns is None else frame.columns | (named or frozenset()),
            missing=(frame.missing - named if named else frozenset()) if clean else frame.missing,
            text=(frame.text - named if named else frozenset()) if coded else frame.text,
        )

    # ------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Any:
        result = self.evaluate(node)
        if isinstance(result, Frame):
            self.story.frames[id(node)] = result
        elif isinstance(result, str):
            self.story.texts[id(node)] = result
        return result

    def evaluate(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=str() as text):
                return text
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.JoinedStr(values=parts):
                texts = [self.value(part.value if isinstance(part, ast.FormattedValue) else part) for part in parts]
                return "".join(texts) if all(isinstance(text, str) for text in texts) else None
            case ast.BinOp(left=left, op=operator, right=right):
                return self.operation(self.value(left), operator, self.value(right))
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                values = [self.value(element) for element in elements]
                if values and all(isinstance(part, str) for part in values):
                    return Names(frozenset(values))
                return tuple(values)
            case ast.ListComp():
                return self.comprehension(node)
            case ast.Attribute(value=owner, attr=name):
                return self.attribute(self.value(owner), name)
            case ast.Subscript(value=owner, slice=key):
                return self.subscript(node, self.value(owner), self.value(key))
            case ast.Call():
                return self.call(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return None

    @staticmethod
    def operation(left: Any, operator: ast.operator, right: Any) -> Any:
        if isinstance(left, str) and isinstance(right, str) and isinstance(operator, ast.Add):
            return left + right
        if isinstance(left, str) and isinstance(right, str) and isinstance(operator, ast.Div):  # pathlib
            return _joined(left, right)
        if isinstance(left, Names) and isinstance(right, Names) and isinstance(operator, ast.Add):
            return Names(None if left.parts is None or right.parts is None else left.parts | right.parts)
        return left if isinstance(left, Frame) and left.single else None

    def comprehension(self, node: ast.ListComp) -> Any:
        """`[c for c in frame.columns if c not in (...)]`: the columns without those named; any other rule is not followed."""
        source = self.value(node.generators[0].iter)
        if isinstance(source, Frame):
            source = Names(source.columns)
        if not isinstance(source, Names):
            return None
        excluded: set[str] = set()
        for condition in node.generators[0].ifs:
            for test in condition.values if isinstance(condition, ast.BoolOp) else [condition]:
                named = self.value(test.comparators[0]) if isinstance(test, ast.Compare) else None
                if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotIn | ast.NotEq) or named is None:
                    return Names(None)
                excluded |= {named} if isinstance(named, str) else (named.parts or set()) if isinstance(named, Names) else set()
        return Names(None if source.parts is None else source.parts - excluded)

    @staticmethod
    def attribute(owner: Any, name: str) -> Any:
        if isinstance(owner, Frame):
            if name == "columns":
                return Names(owner.columns)
            if name in ("values", "loc", "iloc", "T"):
                return owner
            if owner.columns is not None and name in owner.columns:
                return _column(owner, name)
        if isinstance(owner, str) and name == "parent":
            return owner.rpartition("/")[0] or "."
        return None

    def subscript(self, node: ast.Subscript, owner: Any, key: Any) -> Any:
        if not isinstance(owner, Frame):
            return None
        loc = isinstance(node.value, ast.Attribute) and node.value.attr in ("loc", "iloc")
        if loc:
            key = key[-1] if isinstance(key, tuple) and key else owner
        if owner.single:
            return owner
        if isinstance(key, str):
            self.story.columns.append(ColumnUse(node.lineno, key, owner))
            return _column(owner, key)
        if isinstance(key, Names):
            for name in sorted(key.parts or ()):
                self.story.columns.append(ColumnUse(node.lineno, name, owner))
            if key.parts is None:
                return replace(owner, columns=None, missing=frozenset(), text=frozenset())
            return owner.only(key.parts)
        return owner  # a mask or rows: the same columns

    # ------------------------------------------------------------ calls

    def call(self, node: ast.Call) -> Any:
        owner = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        arguments = [self.value(argument) for argument in node.args]
        keywords = {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg}
        name = called(node)
        if isinstance(owner, Frame):
            return self.frame_method(node, owner, name, arguments, keywords)
        if isinstance(owner, Model):
            return self.model_method(node, owner, name, arguments)
        if isinstance(owner, Names):
            return self.names_method(owner, name, arguments)
        if isinstance(owner, str) and name in ("joinpath", "with_name"):
            return _joined(owner, *[part for part in arguments if isinstance(part, str)])
        if isinstance(owner, str) and name in _PATH_READERS | _PATH_WRITERS | {"open"}:
            return self.file_use(node, name, owner, arguments)
        if isinstance(node.func, ast.Name) and name in self.functions and self.depth < _DEPTH:
            return self.enter(self.functions[name], arguments, keywords)
        return self.plain_call(node, name, arguments, keywords)

    def enter(self, function: ast.FunctionDef, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Follow one of the program's own functions with the values it is called with."""
        self.entered.add(function.name)
        outer, self.returned = dict(self.names), None
        parameters = [parameter.arg for parameter in function.args.args]
        self.names |= dict.fromkeys(parameters) | dict(zip(parameters, arguments, strict=False)) | keywords
        self.depth += 1
        self.walk(function.body)
        self.depth -= 1
        result, self.names, self.returned = self.returned, outer, None
        return result

    def plain_call(self, node: ast.Call, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        first = arguments[0] if arguments else None
        texts = [part for part in arguments if isinstance(part, str)]
        if name in ("Path", "join", "str", "PurePath", "abspath", "PosixPath") and texts and len(texts) == len(arguments):
            return _joined(*texts)
        if name in _READERS:
            return self.read(node, first if isinstance(first, str) else keywords.get("filepath_or_buffer"), keywords)
        if name == "open":
            return self.file_use(node, name, first, arguments[1:])
        if name in _WRITERS or name in ("dump", "save"):
            self.story.writes.append(Use(node.lineno, path=texts[0] if texts else None, node=node))
            return None
        if name == "DataFrame":
            return _of_dictionary(node.args[0] if node.args else keyword(node, "data"))
        if name == "get_dummies" and isinstance(first, Frame):
            return replace(first, columns=None, text=frozenset())
        if name == "concat" and arguments:
            return self.stacked(node)
        if name == "train_test_split":
            return tuple(part for part in arguments for _ in (0, 1))
        if name in ("list", "sorted", "set") and isinstance(first, Frame):
            return Names(first.columns)
        if name in ("list", "sorted", "set", "array", "asarray", "nan_to_num", "clone"):
            return replace(first, missing=frozenset()) if name == "nan_to_num" and isinstance(first, Frame) else first
        if name == "merge" and isinstance(first, Frame):
            return replace(first, columns=None)
        return self.made(node, name)

    def made(self, node: ast.Call, name: str) -> Model | None:
        """An object made by a class (a name with a capital) or by `make_pipeline`, with the models inside it."""
        if not (name[:1].isupper() or name.startswith("make_")) or name in ("DataFrame", "Series", "Path", "Counter"):
            return None
        tokens = words(node) | {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
        for inner in ast.walk(node):
            known = self.names.get(inner.id) if isinstance(inner, ast.Name) else None
            if isinstance(known, Model):
                tokens |= known.tokens
        return Model(frozenset(tokens), node.lineno)

    def stacked(self, node: ast.Call) -> Frame | None:
        frames = [self.story.frames[id(part)] for part in ast.walk(node) if id(part) in self.story.frames]
        frames = [frame for frame in frames if not frame.single]
        if not frames:
            return None
        known = [frame.columns for frame in frames]
        columns = None if None in known else frozenset().union(*[names for names in known if names is not None])
        missing = frozenset().union(*(frame.missing for frame in frames))
        return replace(frames[0], columns=columns, missing=missing, text=frozenset().union(*(frame.text for frame in frames)))

    def read(self, node: ast.Call, path: str | None, keywords: dict[str, Any]) -> Frame:
        self.story.reads.append(Use(node.lineno, path=path, node=node))
        table = None if path is None else self.reading.table(path)
        if table is None:
            return Frame(None, None)
        frame = Frame(
            table,
            frozenset(table.names),
            frozenset(column.name for column in table.columns if column.missing),
            frozenset(column.name for column in table.columns if column.is_text),
        )
        if {"names", "header"} & {keyword.arg for keyword in node.keywords}:
            return replace(frame, columns=None)
        if isinstance(keywords.get("index_col"), str):
            frame = frame.without(frozenset([keywords["index_col"]]))
        chosen = keywords.get("usecols")
        return frame.only(chosen.parts) if isinstance(chosen, Names) and chosen.parts is not None else frame

    def file_use(self, node: ast.Call, name: str, path: Any, rest: list[Any]) -> None:
        mode = next((part for part in rest if isinstance(part, str)), "r") if name == "open" else ""
        for item in node.keywords:
            if item.arg == "mode" and isinstance(item.value, ast.Constant):
                mode = str(item.value.value)
        writes = name in _PATH_WRITERS or any(letter in mode for letter in "wax")
        use = Use(node.lineno, path=path if isinstance(path, str) else None, node=node)
        (self.story.writes if writes else self.story.reads).append(use)

    def frame_method(self, node: ast.Call, owner: Frame, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        result = self.transformed(node, owner, name, arguments, keywords)
        if any(keyword.arg == "inplace" for keyword in node.keywords) and isinstance(result, Frame):
            target = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(target, ast.Name):
                self.names[target.id] = result
            return None
        return result

    def transformed(self, node: ast.Call, owner: Frame, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        first = arguments[0] if arguments else None
        if name in _WRITERS:
            self.story.writes.append(Use(node.lineno, path=first if isinstance(first, str) else None, frame=owner, node=node))
            return None
        if name in _FILLING:
            return replace(owner, missing=frozenset())
        if name == "drop":
            return self.dropped(node, owner, first, keywords)
        if name == "pop" and isinstance(first, str):
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                self.names[node.func.value.id] = owner.without(frozenset([first]))
            return _column(owner, first)
        if name == "select_dtypes":
            return self.selected(node, owner)
        if name == "assign":
            return replace(owner, columns=None if owner.columns is None else owner.columns | set(keywords))
        if name in _SAME_COLUMNS or name in ("to_numpy", "astype"):
            return owner
        if owner.single and name in ("map", "to_frame", "str", "rank", "abs"):
            return replace(owner, text=frozenset())
        return None

    def dropped(self, node: ast.Call, owner: Frame, first: Any, keywords: dict[str, Any]) -> Frame:
        by_row = first is not None and not any(
            keyword.arg == "axis" and isinstance(keyword.value, ast.Constant) and keyword.value.value in (1, "columns")
            for keyword in node.keywords
        )
        by_row = by_row and not (len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value in (1, "columns"))
        if by_row:
            return owner
        gone = keywords.get("columns", first)
        if isinstance(gone, str):
            return owner.without(frozenset([gone]))
        if isinstance(gone, Names) and gone.parts is not None:
            return owner.without(gone.parts)
        return replace(owner, columns=None, missing=frozenset(), text=frozenset())

    @staticmethod
    def selected(node: ast.Call, owner: Frame) -> Frame:
        kinds = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)} | words(node)
        if not any(keyword.arg == "exclude" for keyword in node.keywords) and kinds & {"number", "float", "int", "float64", "int64"}:
            return replace(owner.without(owner.text), columns=None if owner.columns is None else owner.columns - owner.text)
        return owner.only(owner.text) if kinds & {"object", "str", "string", "category"} and owner.columns is not None else owner

    def model_method(self, node: ast.Call, owner: Model, name: str, arguments: list[Any]) -> Any:
        frame = next((part for part in arguments if isinstance(part, Frame)), None)
        use = Use(node.lineno, frame=frame, model=owner, node=node)
        if name in ("fit", "fit_transform", "fit_predict", "partial_fit"):
            self.story.fits.append(use)
        if name in ("predict", "predict_proba", "decision_function", "fit_predict"):
            self.story.predictions.append(use)
        if name in ("fit", "set_params"):
            return owner
        if name in ("transform", "fit_transform") and frame is not None:
            filled = owner.tokens & _FILLERS
            coded = owner.tokens & _ENCODERS
            return replace(
                frame,
                columns=None if coded else frame.columns,
                missing=frozenset() if filled else frame.missing,
                text=frozenset() if coded else frame.text,
            )
        return None

    @staticmethod
    def names_method(owner: Names, name: str, arguments: list[Any]) -> Names:
        gone = arguments[0] if arguments else None
        named = frozenset([gone]) if isinstance(gone, str) else gone.parts if isinstance(gone, Names) else None
        if name in ("drop", "difference", "remove") and named is not None and owner.parts is not None:
            return Names(owner.parts - named)
        return owner if name in ("tolist", "to_list", "copy") else Names(None)


def _of_dictionary(data: ast.expr | None) -> Frame:
    """The frame of `DataFrame({...})`: its columns are the keys, where all are written out."""
    keys = data.keys if isinstance(data, ast.Dict) else []
    names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return Frame(None, frozenset(names) if names and len(names) == len(keys) else None)


def _column(frame: Frame, name: str) -> Frame:
    one = frozenset([name])
    return replace(frame, columns=one, missing=frame.missing & one, text=frame.text & one, single=True, label=name)


def _joined(*parts: str) -> str:
    path = ""
    for part in parts:
        path = part if part.startswith("/") or not path else f"{path.rstrip('/')}/{part}"
    return path
