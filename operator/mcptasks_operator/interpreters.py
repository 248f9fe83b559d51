"""What is known of programs that run a part of their command line, or of their environment, as code.

The tables of `scripts`: a help, not a proof. No list of programs is ever complete.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Language:
    """How a program takes code on its command line."""

    code: str
    """The option whose value is code or the name of a file of code; short ones may stand together, as in `-euc`."""
    valued: str = r"(?!)"
    """Options that take the next element, which is neither."""
    operand_is_code: bool = False
    """Whether the first element that is no option is code, as in awk, unless an option gave some."""
    code_is_operand: bool = False
    """Whether the code is not the option's value but the first operand, as in `sh -c -e CODE`."""


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """How a program that starts another one is written before it."""

    valued: str = r"(?!)"
    """Options that take the next element."""
    operands: int = 0
    """How many elements that are no options stand before the program's name."""


SHELL: Final = Language(
    code=r"-[A-Za-z]*c[A-Za-z]*", valued=r"[-+][A-Za-z]*[oO]|--rcfile|--init-file", code_is_operand=True
)
_SHELLS: Final = (
    *("sh", "bash", "rbash", "ash", "hush", "dash", "zsh", "ksh", "mksh", "oksh", "yash", "posh", "osh"),
    *("csh", "tcsh", "xonsh", "elvish"),
)
_PYTHON: Final = Language(code=r"-[A-Za-z]*c", valued=r"-[A-Za-z]*[WX]")
LANGUAGES: Final[Mapping[str, Language]] = MappingProxyType(
    {
        **dict.fromkeys(_SHELLS, SHELL),
        "fish": Language(code=r"-[A-Za-z]*[cC]|--command|--init-command", valued=r"-[dDo]"),
        "nu": Language(code=r"-[A-Za-z]*[ce]|--commands|--execute", valued=r"-[mI]"),
        **dict.fromkeys(("python", "pypy"), _PYTHON),
        "perl": Language(code=r"-[A-Za-z0-9]*[eE]|-[mM]", valued=r"-I"),
        "ruby": Language(code=r"-[A-Za-z0-9]*e", valued=r"-[Ir]"),
        "node": Language(code=r"-[pe]+|--eval|--print", valued=r"-r|--require|--import"),
        "php": Language(code=r"-[rBRE]", valued=r"-[cdz]"),
        "pwsh": Language(code=r"(?i:-c(ommand)?)"),
        "env": Language(code=r"-[A-Za-z0]*S|--split-string", valued=r"-[uC]"),
        **dict.fromkeys(
            ("awk", "gawk", "mawk"),
            Language(code=r"-[ef]|--source|--file", valued=r"-[Fv]", operand_is_code=True),
        ),
        "sed": Language(code=r"-[A-Za-z]*[ef]|--expression|--file", operand_is_code=True),
    }
)

WRAPPERS: Final[Mapping[str, Wrapper]] = MappingProxyType(
    {
        **dict.fromkeys(("busybox", "toybox", "exec", "nohup", "setsid", "time", "tini", "dumb-init"), Wrapper()),
        **dict.fromkeys(("chroot", "flock", "gosu", "su-exec"), Wrapper(valued=r"-[wE]", operands=1)),
        "env": Wrapper(valued=r"-[uC]"),
        "nice": Wrapper(valued=r"-n"),
        "ionice": Wrapper(valued=r"-[cnt]"),
        "stdbuf": Wrapper(valued=r"-[ioe]"),
        "sudo": Wrapper(valued=r"-[ugChpDRT]"),
        "timeout": Wrapper(valued=r"-[ks]", operands=1),
        "xargs": Wrapper(valued=r"-[InPLdEas]"),
    }
)

COMMAND_LINES: Final = frozenset({"at", "batch", "eval", "mosh", "parallel", "rsh", "ssh", "timeit", "watch"})
"""Programs that make a command line or code of every element."""

PLAIN: Final = frozenset(
    {
        *("grep", "egrep", "fgrep", "zgrep", "rg", "ag"),
        *("[", "test", "expr", "echo", "cat", "cut", "head", "tail", "wc", "ls", "sort", "uniq", "split", "gzip"),
        *("md5sum", "sha1sum", "sha256sum", "sha512sum", "ping", "curl", "docker", "podman", "kubectl"),
    }
)
"""Programs whose `-c` and `-e` are known to take no code."""

CODE_OPTION: Final = (
    r"-[ilq]{0,2}c|-[np]?e|-E|-Command|-exec|-execdir|-ok|-okdir|eval|"
    r"--(?:[a-z]+-)*(?:eval|exec|execute|commands?|cmd|rsh|upload-pack|receive-pack|compress-program)"
)
"""Options, and the one subcommand, that mean code whatever the program."""
GLUED_CODE: Final = (
    r"-[ceE](?![A-Za-z-]*=).*|"
    r"--(?:[a-z]+-)*(?:eval|exec|execute|commands?|cmd|rsh|upload-pack|receive-pack|compress-program|checkpoint-action)"
    r"=.*|(?s:.*)(?i:exec|command)=.*"
)
"""The text before a reference, where that is code in the element itself: `--eval=`, `-oProxyCommand=`."""
GIT_CODE: Final = (
    r"(?i:core\.\w+|alias\..*|include(if\..*)?\.path|url\..*|protocol\..*|"
    r".*\.(helper|external|program|clean|smudge|process|driver|editor|textconv|cmd|path|askpass|update|\w*hook"
    r"|\w*command|pager|vcs|uploadpack|receivepack)|pager\..*)=.*"
)
"""The text before a reference, where git takes the setting as a command or as the place of one."""

CODE_VARIABLE: Final = (
    r"BASH_ENV|BASH_FUNC_.*|BASHOPTS|ENV|IFS|PATH|PROMPT_COMMAND|PS[0-4]|SHELL|SHELLOPTS|ZDOTDIR|"
    r"(LD|DYLD)_.*|GCONV_PATH|GLIBC_TUNABLES|OPENSSL_CONF|"
    r"NODE_(OPTIONS|PATH)|BUN_OPTIONS|PYTHON(STARTUP|PATH|HOME|BREAKPOINT|WARNINGS|USERBASE)|"
    r"PERL5(OPT|LIB|DB)|PERLLIB|RUBY(OPT|LIB)|GEM_(PATH|HOME)|LUA_(INIT|PATH|CPATH).*|R_(PROFILE|ENVIRON).*|"
    r"JULIA_LOAD_PATH|PHPRC|PHP_INI_SCAN_DIR|AWK(LIB)?PATH|"
    r"_?JAVA_OPTIONS|JAVA_OPTS|JDK_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|CLASSPATH|(MAVEN|GRADLE|CATALINA|SBT)_OPTS|"
    r"DOTNET_STARTUP_HOOKS|CORECLR_PROFILER.*|RUSTC(_WORKSPACE)?_WRAPPER|GOFLAGS|MAKEFLAGS|TAR_OPTIONS|"
    r"GIT_(CONFIG.*|SSH.*|EXEC_PATH|EXTERNAL_DIFF|TEMPLATE_DIR|.*(COMMAND|EDITOR|PAGER|ASKPASS))|"
    r"(RSYNC|CVS)_RSH|(SSH|SUDO)_ASKPASS|EDITOR|VISUAL|BROWSER|(MAN)?PAGER|LESS(OPEN|CLOSE)"
)
"""Variables that shells, loaders and interpreters take code, options or the place of their programs from."""
