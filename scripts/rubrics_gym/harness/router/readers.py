"""Programs that read, unless their arguments make them write files or run commands: sed, awk, sort, find's relatives."""

from __future__ import annotations

import re

from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, OTHER, Finding
from rubrics_gym.harness.router.options import VERSION_OPTIONS, first_word, has_option, operands, words

_SED_VALUED = words("-e -f -l --expression --file --line-length")


def sed(arguments: list[str]) -> Finding:
    """GNU sed: `-i` edits, `w` writes files, `e` and the flag e of `s` run commands, `-f` brings a program from a file."""
    if has_option(arguments, "--file") or any(re.match(r"-[nErsuz]*f", item) for item in arguments):
        return Finding(CODE_RUN, "a sed program from a file")
    effects = set().union(*map(_sed_effects, _sed_programs(arguments)))
    if "e" in effects:
        return Finding(CODE_RUN, "a sed program that runs commands")
    if any(re.match(r"-[nErsuz]*i|--in-place", item) for item in arguments):
        return Finding(EDIT, "changes files in place")
    return Finding(EDIT, "a sed program that writes files") if "w" in effects else Finding(INSPECT, "sed only prints")


def _sed_programs(arguments: list[str]) -> list[str]:
    given = [
        arguments[place + 1] for place, item in enumerate(arguments[:-1]) if item == "--expression" or re.fullmatch(r"-[nErsuzi]*e", item)
    ]
    given += [match[1] for item in arguments if (match := re.match(r"(?:--expression=|-[nErsuz]*e)(.+)", item, re.DOTALL))]
    return given or operands(arguments, _SED_VALUED)[:1]


def _sed_effects(program: str) -> set[str]:
    """Which of `w` (writes a file) and `e` (runs a command) a sed program does; a program that cannot be read is searched for both."""
    effects: set[str] = set()
    rest = program
    while rest := rest.lstrip(" \t\n;{}"):
        address = re.match(
            r"(\d+|\$|/(\\.|[^/\\])*/[IM]*|\\(.)(\\.|(?!\3)[^\\])*\3[IM]*)?([~,+]\s*\+?(\d+|\$|/(\\.|[^/\\])*/[IM]*))*\s*!*\s*", rest
        )
        rest = rest[address.end() if address else 0 :]
        command, rest = rest[:1], rest[1:]
        if command in {"s", "y"}:
            body = re.match(r"(.)((?:\\.|(?!\1)[^\\])*)\1((?:\\.|(?!\1)[^\\])*)\1([gpiImMeE\d]*)([wW][^\n]*)?", rest, re.DOTALL)
            if body is None:
                return effects | ({"e"} if re.search(r"/[gIp\d]*e[gIp\d]*\s*($|[;}])", rest) else set())
            effects |= {"e"} if command == "s" and "e" in body[4] else set()
            effects |= {"w"} if body[5] else set()
            rest = rest[body.end() :]
        elif command in {"w", "W", "e"}:
            effects.add(command.lower())
            rest = rest.partition("\n")[2]
        elif command in {"a", "i", "c", "r", "R", ":", "b", "t", "T", "#", "q", "Q", "l", "L", "v"}:
            rest = re.sub(r"^[^\n;}]*" if command in "btTqQlL" else r"^(\\\n|[^\n])*", "", rest)
        elif command not in set("dDgGhHnNpPxzF=}"):
            return effects | ({"e"} if re.search(r"(^|[;{}\d$/\n])\s*e(\s|$)", rest) else set())
    return effects


def awk(arguments: list[str]) -> Finding:
    """awk: `system`, pipes and programs from files run commands; `print >` writes files."""
    if has_option(arguments, "--file", "--load", "--include", "--exec") or any(
        re.match(r"-[fliE]", item) for item in arguments if item != "-i"
    ):
        return Finding(CODE_RUN, "an awk program from a file")
    if "inplace" in arguments:
        return Finding(EDIT, "changes files in place")
    sources = [item.partition("=")[2] for item in arguments if item.startswith("--source=")]
    program = " ".join(sources or operands(arguments, words("-F -v --field-separator --assign -i"))[:1])
    if re.match(r"\$[({]|`", program):
        return Finding(CODE_RUN, "an awk program that is only known when it runs")
    code = re.sub(r'"(\\.|[^"\\])*"', '""', program)
    code = re.sub(r"(^|[~(,;{&|!\s])/(\\.|[^/\\\n])*/", r"\1//", code)
    if re.search(r"\bsystem\s*\(|(?<!\|)\|&?(?!\|)|@(load|include)\b", code):
        return Finding(CODE_RUN, "an awk program that runs commands")
    writes = re.search(r"\bprintf?\b[^;}\n]*>", _outside_brackets(code)) and not re.search(r'>\s*"/dev/(stderr|stdout|null)"', program)
    return Finding(EDIT, "an awk program that writes files") if writes else Finding(INSPECT, "awk only prints")


def _outside_brackets(code: str) -> str:
    """What stands in no round brackets: a comparison inside them writes nothing."""
    kept, depth = [], 0
    for piece in re.split(r"([()])", code):
        depth = max(0, depth + {"(": 1, ")": -1}.get(piece, 0))
        kept += [piece] if not depth and piece != ")" else []
    return "".join(kept)


def perl(arguments: list[str]) -> Finding:
    """perl used as a better sed: substitutions and matches alone, over lines. Anything else is a program."""
    if arguments and set(arguments) <= VERSION_OPTIONS | {"-v"}:
        return Finding(INSPECT, "prints the version of perl")
    options = [item for item in arguments if re.fullmatch(r"-[0-9a-zA-Z.]+", item)]
    given = [arguments[place + 1] for place, item in enumerate(arguments[:-1]) if re.fullmatch(r"-[0-9pnlai.]*[eE]", item)]
    loops = any(re.match(r"-[0-9lai.]*[pn]", item) for item in options)
    simple = r"\s*(\d+\s*(and|if)\s+)?(s|tr|y)([/|#!,])(\\.|(?!\4)[^\\])*\4(\\.|(?!\4)[^\\])*\4[gimsxr]*\s*"
    if (
        loops
        and given
        and all(
            all(re.fullmatch(simple, part, re.DOTALL) for part in text.split(";") if part.strip())
            and not re.search(r"\(\?\??\{|[@$]\{|`", text)
            for text in given
        )
    ):
        in_place = any(re.match(r"-[0-9pnla]*i", item) for item in options)
        return Finding(EDIT, "changes files in place") if in_place else Finding(INSPECT, "perl only prints")
    return Finding(CODE_RUN, "runs a perl program")


def sort(arguments: list[str]) -> Finding:
    if any(item.startswith("--compress-p") for item in arguments):
        return Finding(CODE_RUN, "sort runs a program")
    writes = any(re.match(r"-[bdfghiMnRrVcCmsuz]*o", item) or item.startswith("--ou") for item in arguments)
    return Finding(EDIT, "writes a sorted file") if writes else Finding(INSPECT, "sort only prints")


def uniq(arguments: list[str]) -> Finding:
    second = operands(arguments, words("-f -s -w --skip-fields --skip-chars --check-chars"))[1:2]
    return Finding(EDIT, f"writes {second[0]}") if second and second != ["-"] else Finding(INSPECT, "uniq only prints")


def xxd(arguments: list[str]) -> Finding:
    second = operands(arguments, words("-c -g -l -s -o -n -cols -groupsize -len -seek"))[1:2]
    return Finding(EDIT, f"writes {second[0]}") if second and second != ["-"] else Finding(INSPECT, "xxd only prints")


def prints_unless_output(arguments: list[str]) -> Finding:
    """Readers with an option -o FILE (shuf, tree, pygmentize, iconv, yq ...)."""
    writes = has_option(arguments, "-o", "--output", "--output-file")
    return Finding(EDIT, "writes its output to a file") if writes else Finding(INSPECT, "only reads")


def yq(arguments: list[str]) -> Finding:
    edits = has_option(arguments, "-i", "--inplace", "--in-place")
    return Finding(EDIT, "changes files in place") if edits else Finding(INSPECT, "yq only prints")


def date(arguments: list[str]) -> Finding:
    sets = any(item == "-s" or item.startswith("--set") for item in arguments)
    return Finding(OTHER, "sets the clock") if sets else Finding(INSPECT, "prints the date")


def searcher(arguments: list[str]) -> Finding:
    """ripgrep, ack, ag: a preprocessor or pager is a program that they run."""
    runs = any(re.match(r"--(pre|pager|hostname-bin)(=|$)", item) for item in arguments)
    return Finding(CODE_RUN, "the search runs a program") if runs else Finding(INSPECT, "only searches")


def fd(arguments: list[str]) -> Finding:
    runs = has_option(arguments, "-x", "-X", "--exec", "--exec-batch")
    return Finding(CODE_RUN, "fd runs a command on what it finds") if runs else Finding(INSPECT, "lists files")


def pager(arguments: list[str]) -> Finding:
    """less, man, bat: they print here, unless a command (`+!cmd`) or another pager is given."""
    runs = any(item.startswith("--pager") or (item.startswith("+") and "!" in item) for item in arguments)
    return Finding(CODE_RUN, "the pager runs a command") if runs else Finding(INSPECT, "shows a text")


def man(arguments: list[str]) -> Finding:
    return Finding(CODE_RUN, "man runs another pager") if has_option(arguments, "-P", "-H") else pager(arguments)


def file_type(arguments: list[str]) -> Finding:
    return (
        Finding(EDIT, "compiles a table of file types") if has_option(arguments, "--compile") else Finding(INSPECT, "names types of files")
    )


def miller(arguments: list[str]) -> Finding:
    """Miller: its language has functions that run commands, and verbs that write files; `-I` edits in place."""
    program = " ".join(arguments)
    if re.search(r"\b(system|exec)\s*\(|--prepipe|\|\s*\"", program):
        return Finding(CODE_RUN, "Miller runs commands")
    writes = has_option(arguments, "-I") or re.search(r"(^| )(tee|split)( |$)|\b(tee|print|emit|dump)\b[^;]*>", program)
    return Finding(EDIT, "changes files") if writes else Finding(INSPECT, "Miller only prints")


def pdf_text(arguments: list[str]) -> Finding:
    """pdftotext writes a file unless its second operand is `-`."""
    prints = operands(arguments, words("-f -l -r -x -y -W -H -enc -eol -opw -upw"))[1:2] == ["-"]
    return Finding(INSPECT, "prints a text") if prints else Finding(OTHER, "writes the text of a PDF file")


def pandoc(arguments: list[str]) -> Finding:
    runs = has_option(arguments, "-F", "-L") or any(re.match(r"--(lua-)?filter|--pdf-engine", item) for item in arguments)
    return Finding(CODE_RUN, "pandoc runs a filter") if runs else Finding(OTHER, "converts a document")


def wandb(arguments: list[str]) -> Finding:
    runs = first_word(arguments) in {"agent", "launch", "launch-agent", "docker", "docker-run"}
    return Finding(CODE_RUN, "starts runs") if runs else Finding(OTHER, "handles an account and its runs")


def tee(arguments: list[str]) -> Finding:
    files = [item for item in operands(arguments) if not item.startswith("/dev/")]
    return Finding(EDIT, f"writes {files[0]}") if files else Finding(INSPECT, "only copies its input")


def dd(arguments: list[str]) -> Finding:
    writes = any(item.startswith("of=") and item not in {"of=/dev/null", "of=/dev/stdout"} for item in arguments)
    return Finding(EDIT, "writes a file") if writes else Finding(INSPECT, "dd only reads")


def split(arguments: list[str]) -> Finding:
    runs = any(item.startswith("--fi") for item in arguments)
    return Finding(CODE_RUN, "split runs a filter") if runs else Finding(OTHER, "writes parts of a file")


def sqlite(arguments: list[str]) -> Finding:
    """sqlite3 with queries alone reads; statements that change a table edit; dot commands that start programs run code."""
    given = operands(arguments, words("-separator -cmd -init -nullvalue -newline"))[1:]
    statements = " ; ".join([*given, *(item for place, item in enumerate(arguments) if arguments[place - 1 : place] == ["-cmd"])])
    if (
        not given
        or "-init" in arguments
        or re.search(r"\.(shell|system|load|read|import|output|once)\b|load_extension|writefile|edit\(", statements)
    ):
        return Finding(CODE_RUN, "runs an SQL program")
    queries = r"(select|pragma|explain|with|\.(tables|schema|headers?|mode|databases|indexes|width|dump))\b|$"
    reads = all(re.match(queries, text.strip(), re.IGNORECASE) for text in statements.split(";"))
    return Finding(INSPECT, "queries a database") if reads else Finding(OTHER, "changes a database")


_COMPRESSORS = words("gzip pigz bzip2 pbzip2 lbzip2 xz pxz zstd lz4 lzip lzop brotli")


def tar(arguments: list[str]) -> Finding:
    """GNU tar can run programs at checkpoints, on members and for compressing; a known compressor is not the agent's code."""
    given = [arguments[place + 1] for place, item in enumerate(arguments[:-1]) if item in {"-I", "--use-compress-program"}]
    given += [match[1] for item in arguments if (match := re.match(r"(?:--use-compress-program=|-I)(.+)", item, re.DOTALL))]
    runs = any(re.match(r"--(to-c|checkpoint-a|rsh-c|info-s|new-volume-s|rmt-c)", item) for item in arguments)
    if (
        runs
        or any(text.split(" ")[0] not in _COMPRESSORS for text in given)
        or any(re.match(r"-?[a-zA-Z]*F", item) for item in arguments[:1])
    ):
        return Finding(CODE_RUN, "tar runs a program")
    lists = any(re.match(r"-?[a-zA-Z]*t", item) for item in arguments[:1]) or "--list" in arguments
    return Finding(INSPECT, "lists an archive") if lists else Finding(OTHER, "packs or unpacks")


def unzip(arguments: list[str]) -> Finding:
    lists = has_option(arguments, "-l", "-v", "-t", "-Z", "-p", "-c")
    return Finding(INSPECT, "lists an archive") if lists else Finding(OTHER, "unpacks")


def compressor(arguments: list[str]) -> Finding:
    """gzip and its relatives: with `-c` they print, with `-l` and `-t` they look."""
    prints = has_option(arguments, "-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test")
    return Finding(INSPECT, "prints what is packed") if prints else Finding(OTHER, "packs or unpacks")


def seven_zip(arguments: list[str]) -> Finding:
    return Finding(INSPECT, "lists an archive") if first_word(arguments) in {"l", "t", "i", "h"} else Finding(OTHER, "packs or unpacks")


def zip_(arguments: list[str]) -> Finding:
    runs = any(re.match(r"-[a-zA-Z]*TT|--unzip-command", item) for item in arguments)
    return Finding(CODE_RUN, "zip runs a test command") if runs else Finding(OTHER, "packs")


def rsync(arguments: list[str]) -> Finding:
    runs = any(re.match(r"-[a-zA-Z]*e|--rsh|--rsync-path", item) for item in arguments)
    return Finding(CODE_RUN, "rsync runs a program") if runs else Finding(OTHER, "copies files")


def mount(arguments: list[str]) -> Finding:
    return Finding(OTHER, "mounts") if operands(arguments) else Finding(INSPECT, "lists mounts")


def ffmpeg(arguments: list[str]) -> Finding:
    """ffmpeg without an output file only describes its inputs."""
    inputs = [item for place, item in enumerate(arguments) if place and arguments[place - 1] == "-i"]
    outputs = [item for item in operands(arguments)[-1:] if item not in inputs and item == arguments[-1]]
    return Finding(OTHER, "converts media") if outputs else Finding(INSPECT, "describes media")


def openssl(arguments: list[str]) -> Finding:
    if any(re.match(r"-(engine|provider|provider-path|config)", item) for item in arguments):
        return Finding(CODE_RUN, "openssl loads a module")
    reads = has_option(arguments, "-noout") or first_word(arguments) in {
        "version",
        "dgst",
        "s_client",
        "verify",
        "ciphers",
        "list",
        "speed",
    }
    return Finding(INSPECT, "shows keys or certificates") if reads else Finding(OTHER, "makes keys or certificates")


def wget(arguments: list[str]) -> Finding:
    runs = any(item.startswith("--use-askpass") for item in arguments)
    return Finding(CODE_RUN, "wget runs a program") if runs else Finding(OTHER, "downloads")


READERS_BY_ARGUMENTS = {
    "sed": sed,
    "gsed": sed,
    "awk": awk,
    "gawk": awk,
    "mawk": awk,
    "nawk": awk,
    "perl": perl,
    "sort": sort,
    "gsort": sort,
    "uniq": uniq,
    "xxd": xxd,
    "shuf": prints_unless_output,
    "tree": prints_unless_output,
    "pygmentize": prints_unless_output,
    "iconv": prints_unless_output,
    "yq": yq,
    "date": date,
    "rg": searcher,
    "ag": searcher,
    "ack": searcher,
    "fd": fd,
    "fdfind": fd,
    "less": pager,
    "man": man,
    "bat": pager,
    "batcat": pager,
    "most": pager,
    "file": file_type,
    "tee": tee,
    "dd": dd,
    "split": split,
    "sqlite3": sqlite,
    "tar": tar,
    "bsdtar": tar,
    "unzip": unzip,
    **dict.fromkeys(words("gzip gunzip pigz bzip2 bunzip2 xz unxz zstd unzstd lz4"), compressor),
    "7z": seven_zip,
    "7za": seven_zip,
    "zip": zip_,
    "rsync": rsync,
    "mount": mount,
    "ffmpeg": ffmpeg,
    "openssl": openssl,
    "wget": wget,
    "mlr": miller,
    "pdftotext": pdf_text,
    "pandoc": pandoc,
    "wandb": wandb,
}
