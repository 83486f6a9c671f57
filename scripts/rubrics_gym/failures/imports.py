"""What a failed import, a missing attribute or an unknown keyword tells: a missing package, a changed interface, versions that do not fit
together, or a mistake of the code's own."""

from __future__ import annotations

import re
import sys

from rubrics_gym.failures.interfaces import Interfaces
from rubrics_gym.failures.modules import Modules, caller, is_installed
from rubrics_gym.failures.tracebacks import Raised

NO_MODULE = re.compile(r"No module named ['\"]?(?P<module>[\w.]+)['\"]?(?P<shadowed>; ['\"]?[\w.]+['\"]? is not a package)?")
NO_NAME = re.compile(
    r"cannot import name ['\"]?(?P<name>\w+)['\"]?(?: from (?P<circular>partially initialized module )?['\"](?P<module>[\w.]+)['\"](?: \((?P<where>[^)\n]*)\))?)?"
)
NO_MODULE_ATTRIBUTE = re.compile(
    r"(?P<circular>partially initialized )?module ['\"](?P<module>[\w.]+)['\"] has no attribute ['\"](?P<name>\w+)['\"]"
)
NO_ATTRIBUTE = re.compile(
    r"(?:['\"](?P<of>[\w.]+)['\"] object|type object ['\"](?P<type>[\w.]+)['\"]) has no attribute ['\"](?P<name>\w+)['\"]"
)
UNKNOWN_KEYWORD = re.compile(r"(?P<function>[\w.]+)\(\) got an unexpected keyword argument ['\"](?P<name>\w+)['\"]")


def import_type(exception: Raised, modules: Modules, interfaces: Interfaces) -> str | None:
    """The type of a failed import; None when the exception is none."""
    if not exception.kind.endswith(("ImportError", "ModuleNotFoundError")) and "Failed to import" not in exception.message:
        return None
    missing = NO_MODULE.search(exception.message)
    if missing:
        return _missing_module(missing["module"], bool(missing["shadowed"]), exception, modules, interfaces)
    unnamed = NO_NAME.search(exception.message)
    return _missing_name(unnamed, exception, modules, interfaces) if unnamed else None


def _missing_module(module: str, shadowed: bool, exception: Raised, modules: Modules, interfaces: Interfaces) -> str:
    top, _, rest = module.partition(".")
    if interfaces.module(top):
        return "api_changed"  # a module that Python itself no longer has
    if shadowed or modules.is_own(top, exception.frames):
        return "own_logic"
    if not rest or top in modules.namespaces:
        return "missing_package"
    # Python names the submodule only when the package itself was found: it is broken, or it lost that module, or never had it.
    known = interfaces.module(module)
    if rest.rsplit(".", 1)[-1].startswith("_") and not known:
        return "other"
    return _unknown_of_library(known, module, exception, interfaces)


def _missing_name(unnamed: re.Match[str], exception: Raised, modules: Modules, interfaces: Interfaces) -> str:
    module, where = unnamed["module"] or "", unnamed["where"] or ""
    if not module:  # Python 3.6 and older do not say from where
        code = exception.frames[-1].code if exception.frames else ""
        match = re.match(r"from ([\w.]+) import", code)
        module = match[1] if match else ""
    if unnamed["circular"] and is_installed(where):
        return "dependency_conflict"  # a package that trips over itself: parts of it do not fit
    own_file = where.endswith(".py") and not is_installed(where)
    if unnamed["circular"] or not module or own_file or modules.is_own(module.split(".")[0], exception.frames):
        return "own_logic"
    return _unknown_of_library(interfaces.name(module, unnamed["name"]), module, exception, interfaces)


def attribute_type(exception: Raised, modules: Modules, interfaces: Interfaces) -> str | None:
    """The type of a missing attribute; None when the exception is about something else."""
    of_module = NO_MODULE_ATTRIBUTE.search(exception.message)
    if of_module:
        module, name = of_module["module"], of_module["name"]
        if name.startswith("__"):
            return "other"  # not even the module's own metadata: a broken or shadowed installation
        if of_module["circular"] and exception.frames and is_installed(exception.frames[-1].path):
            return "dependency_conflict"
        if of_module["circular"] or modules.is_own(module.split(".")[0], exception.frames):
            return "own_logic"
        return _unknown_of_library(interfaces.name(module, name), module, exception, interfaces)
    of_object = NO_ATTRIBUTE.search(exception.message)
    if of_object and interfaces.attribute(of_object["of"] or of_object["type"], of_object["name"]):
        return "api_changed"
    return None


def _unknown_of_library(known: bool, module: str, exception: Raised, interfaces: Interfaces) -> str:
    """A library lacks what was asked of it: asked by another library their versions do not fit, asked by the project's own code the
    interface changed, unless all of its changes are known and this is none: then the name was invented."""
    top = module.split(".")[0]
    if caller(exception.frames, top) is not None:
        return "dependency_conflict"
    if known:
        return "api_changed"
    return "own_logic" if interfaces.covers(module) or top in sys.stdlib_module_names else "api_changed"


def keyword_type(exception: Raised, interfaces: Interfaces) -> str | None:
    """The type of a keyword argument that other releases take; None when none does, or the exception is about something else."""
    keyword = UNKNOWN_KEYWORD.search(exception.message)
    if not keyword:
        return None
    function, name = keyword["function"], keyword["name"]
    code = "\n".join(frame.code for frame in exception.frames)
    if not interfaces.parameter(function, name, code):
        return None
    package = interfaces.package_of_parameter(function, name)
    if package and exception.frames and caller(exception.frames, package) is not None:
        return "dependency_conflict"
    return "api_changed"
