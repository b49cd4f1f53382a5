"""The calls that matter in Perl, Ruby, JavaScript, PHP, Lua, AppleScript and their like."""

from __future__ import annotations

import re
from collections.abc import Callable

from policyengine.shell.code import names
from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.calls import MAX_CODE, PLAIN, Language, Rule, reader
from policyengine.shell.values import Value

_SHELL = Rule(Kind.COMMAND)
_OPEN = Rule(Kind.READ)
_READS = Rule(Kind.READ, PLAIN)
_KILL = Rule(Kind.SIGNAL)
_DELETE = Rule(Kind.DELETE, every=True)
_TREE = Rule(Kind.DELETE_TREE)
_WRITE = Rule(Kind.WRITE)
_WRITE_TEXT = Rule(Kind.WRITE, content=1)
_CONNECT = Rule(Kind.CONNECT)
_POST = Rule(Kind.SEND, ("POST",))
_DYNAMIC = Rule(Kind.OPAQUE, ("code is made at run time",))
_UNNAMED = Rule(Kind.OPAQUE, ("which function is called is not known",))
_FETCHED = Rule(Kind.CODE, ("php",), fetched=True)
_TICKS = Rule(Kind.SHELL, literal=True)
# A literal between brackets, or between two of one character (perlop, qx; Ruby's %-literals).
_BETWEEN = (
    r"(?:\((?:[^()]|\([^()]*\)){0,1000}\)|\{[^}]{0,1000}\}|\[[^\]]{0,1000}\]|<[^>]{0,1000}>"
    r"|(?P<mark>[^\w\s(\[{<,=;)])[^\x00]{0,1000}?(?P=mark))"
)

PERL = Language(
    {
        r"(?<![\w$@%.>-])(?:system|exec)\b\s*\(?": _SHELL,
        rf"(?<![\w$@%.>-])qx\s*{_BETWEEN}": _TICKS,
        r"`[^`]{0,4000}`": _TICKS,
        r"(?<![\w$@%.>-])sysopen\b\s*\(?\s*(?:my\s+)?[$*]?\w+\s*,"
        r"(?=[^;]{0,400}\bO_(?:WR|RDWR|CREAT|APPEND|TRUNC))": _WRITE,
        r"(?<![\w$@%.>-])(?:sys)?open\b\s*\(?\s*(?:my\s+)?[$*]?\w+\s*,": _OPEN,
        r"(?<![\w$@%.>-])(?:unlink|rmdir)\b\s*\(?": _DELETE,
        r"(?<![\w$@%.>{'\"-])mkdir\b\s*\(?(?=\s*['\"$q])": _WRITE,
        r"(?<![\w$@%>-])(?:File::Path::)?(?:rmtree|remove_tree)\b\s*\(?": _TREE,
        r"(?<![\w$@%.>-])copy\b\s*\(": Rule(Kind.WRITE, at=1, source=0),
        r"(?<![\w$@%.>-])(?:rename\b\s*\(?|move\b\s*\()": Rule(Kind.WRITE, at=1, source=0, gone=True),
        r"(?<![\w$@%.>-])(?:sym)?link\b\s*\(?(?=\s*['\"q])": Rule(Kind.LINK, at=1, source=0),
        r"(?<![\w$@%.>-])(?:do|require)\s+(?=['\"][^'\"]*[./])": Rule(Kind.SCRIPT, ("perl",)),
        r"(?<![\w$@%.>-])chmod\b\s*\(?": Rule(Kind.ATTRIBUTE, ("mode", ""), at=1),
        r"(?<![\w$@%.>-])kill\b\s*\(?(?=\s*['\"\w-]+\s*(?:,|=>))": Rule(Kind.SIGNAL, at=1),
        r"@ARGV\s*=\s*\(?": _READS,
        r"(?<![\w$@%.>-])(?:read_file|slurp|path)\s*\(?(?=\s*['\"])": _READS,
        r"&\s*\{\s*(?:['\"]|\$)|&\$\w+\s*\(|\*\{\s*['\"]": _UNNAMED,
        r"IO::Socket::INET\w*->new\s*\(\s*(?:PeerAddr\s*=>)?": _CONNECT,
        r"new\s+IO::Socket::INET\w*\s*\(\s*(?:PeerAddr\s*(?:=>|,))?": _CONNECT,
        r"(?<![\w$@%.>-])connect\s*\(": _CONNECT,
        r"->\s*(?:post|put|post_form)\s*\(": _POST,
        r"(?<![\w$@%.>-])LWP::\w+|HTTP::Tiny|LWP::Simple": Rule(Kind.FETCH),
        r"(?<![\w$@%.>-])eval\b\s*\(?(?!\s*\{)": Rule(Kind.CODE, ("perl",)),
        r"(?<![\w$@%.>-])(?:fork\b(?=[^;{}]{0,40}while)|while\s*\(?1?\)?\s*\{?\s*fork|fork\s+while\s+fork)": Rule(
            Kind.EXHAUST, ("fork-bomb",)
        ),
    },
    backticks=True,
    plain="'",
    environment=r"%ENV\b",
    name="perl",
)

RUBY = Language(
    {
        r"(?<![\w.:])(?:Kernel\.)?(?:system|exec|spawn)\b\s*\(?": _SHELL,
        r"(?<![\w.:$@'\"-])sh\s*\(?(?=\s*['\"])": _SHELL,
        r"(?:IO\.popen|Open3\.\w+|PTY\.spawn|Process\.spawn)\s*\(?": _SHELL,
        r"`[^`]{0,4000}`": _TICKS,
        rf"%x{_BETWEEN}": _TICKS,
        r"(?:File|IO)\.(?:open|new)\s*\(?": _OPEN,
        r"(?<![\w.])(?:Kernel\.)?open\s*\(?(?=\s*['\"]\s*\|)": _OPEN,
        r"\b(?:File|FileUtils|Dir|IO)\.(?:public_send|__send__|send|method)\s*\(": _DYNAMIC,
        r"\b(?:public_send|__send__|send)\s*\(?\s*(?::|['\"])(?:system|exec|spawn|popen|`)['\"]?\s*,": _SHELL,
        r"\bmethod\s*\(?\s*(?::|['\"])(?:system|exec|spawn)['\"]?\s*\)\s*\.\s*(?:call\s*)?\(": _SHELL,
        r"\b(?:public_send|__send__|send|const_get)\s*\(?\s*(?:['\"][^'\"]*['\"]\s*\+|\[)": Rule(
            Kind.OPAQUE, ("which method is called is not known",)
        ),
        r"File\.(?:readlines|binread|read|foreach)\s*\(?": _READS,
        r"(?:IO|Pathname)\.(?:readlines|binread|read|foreach)\s*\(?(?!\s*['\"]?\s*\|)": _READS,
        r"(?:IO)\.(?:readlines|read|foreach)\s*\(?(?=\s*['\"]\s*\|)": _OPEN,
        r"(?:YAML|JSON|CSV)\.(?:load_file|safe_load_file|read|foreach)\s*\(?": _READS,
        r"Process\.kill\s*\(?": Rule(Kind.SIGNAL, at=1),
        r"\bloop\s*(?:\{|do)\s*fork\b|\bfork\s+while\s+(?:fork|true)": Rule(Kind.EXHAUST, ("fork-bomb",)),
        r"\bDotenv\.parse\s*\(?": _READS,
        r"(?:File|IO)\.(?:write|binwrite)\s*\(?": _WRITE_TEXT,
        r"(?:Dir\.mkdir|FileUtils\.(?:mkdir|mkdir_p|makedirs|touch))\b\s*\(?": _WRITE,
        r"File\.rename\s*\(?|FileUtils\.(?:mv|move)\b\s*\(?": Rule(Kind.WRITE, at=1, source=0, gone=True),
        r"(?:File\.(?:sym)?link|FileUtils\.(?:ln|ln_s|ln_sf|symlink))\b\s*\(?": Rule(Kind.LINK, at=1, source=0),
        r"(?<![\w.])(?:require_relative|load|require\s*\(?(?=\s*['\"][./]))\s*\(?": Rule(Kind.MODULE, ("ruby",)),
        r"File\.(?:delete|unlink)\s*\(?|FileUtils\.rm(?:_f)?\b\s*\(?|Dir\.rmdir\s*\(?": _DELETE,
        r"FileUtils\.(?:rm_r|rm_rf|remove_dir|remove_entry|rmtree)\b\s*\(?": _TREE,
        r"FileUtils\.(?:cp|copy|cp_r|install)\b\s*\(?": Rule(Kind.WRITE, at=1, source=0),
        r"File\.chmod\s*\(?": Rule(Kind.ATTRIBUTE, ("mode", ""), at=1),
        r"(?:TCPSocket|TCPServer|UDPSocket)\.(?:new|open)\s*\(?": _CONNECT,
        r"(?:Net::HTTP(?:\.|::)(?:[pP]ost(?:_form)?|[pP]ut|[pP]atch)|(?:HTTParty|Faraday|RestClient|HTTP)\.(?:post|put))\b"
        r"\s*\(?(?:\s*URI(?:\.parse)?\()?": _POST,
        r"(?:Net::HTTP\.\w+|URI\.open|open-uri)\s*\(?": Rule(Kind.FETCH),
        r"(?<![\w.])(?:eval|instance_eval|class_eval)\b\s*\(?(?!\s*(?:\{|do\b))": Rule(Kind.CODE, ("ruby",)),
    },
    plain="'",
    interpolated=r"#[{$@]",
    environment=r"\bENV(?:\.(?:to_|inspect|map|each|sort|select|values)|\b(?![\[.]))",
    name="ruby",
)

_CLIENTS = r"(?:axios|got|ky|superagent|needle|request)"
_SENDING = r"[^;]{0,600}?(?:\bmethod['\"]?\s*:\s*['\"`](?i:post|put|patch|delete)|\b(?:body|data)\s*:)"
_HTTP = r"(?:https?|require\(['\"](?:node:)?https?['\"]\))"

JAVASCRIPT = Language(
    {
        r"\b(?:exec|execSync)\s*\(": Rule(Kind.SHELL),
        r"\b(?:spawn|spawnSync|execFile|execFileSync)\s*\(": _SHELL,
        r"\bfork\s*\((?=\s*['\"])|\bnew\s+Worker\s*\((?=\s*['\"])": Rule(Kind.SCRIPT, ("node",)),
        r"\b(?:require|import)\s*\((?=\s*['\"][./])|\b(?:from|import)\s+(?=['\"][./])": Rule(Kind.MODULE, ("node",)),
        r"\b(?:require|import)\s*\(\s*(?:['\"][^'\"]*['\"]\s*\+|atob\b|Buffer\b)": Rule(
            Kind.OPAQUE, ("which module is loaded is not known",)
        ),
        r"\bprocess\s*\.\s*(?:binding|_linkedBinding|dlopen)\s*\(": Rule(
            Kind.OPAQUE, ("parts of the interpreter are reached directly",)
        ),
        r"\brequire\s*\(\s*['\"](?:node:)?(?:child_process|vm|fs)['\"]\s*\)\s*\[": Rule(
            Kind.OPAQUE, ("which function is called is not known",)
        ),
        r"\b(?:rm|rmSync|rmdir|rmdirSync|rimraf(?:\.sync)?|removeSync|emptyDirSync)\s*\(": _TREE,
        r"\b(?:unlink|unlinkSync)\s*\(": _DELETE,
        r"\b(?:createWriteStream|truncateSync|mkdirSync)\s*\(": _WRITE,
        r"\b(?:writeFile|writeFileSync|outputFile\w*|writeTextFile(?:Sync)?)\s*\(|\bBun\.write\s*\(": Rule(
            Kind.WRITE, content=1
        ),
        r"\b(?:appendFile|appendFileSync)\s*\(": Rule(Kind.APPEND, content=1),
        r"\bopenSync\s*\(|\bpromises\s*\.\s*open\s*\(": _OPEN,
        r"\b(?:readFile|readFileSync|createReadStream|readTextFile(?:Sync)?|readTextSync)\s*\(": _READS,
        r"\bBun\s*\.\s*file\s*\(": _READS,
        r"\bDeno\s*\.\s*(?:open|openSync|readFile|readFileSync|readDir|readDirSync)\s*\(": _READS,
        r"\bDeno\s*\.\s*(?:remove|removeSync)\s*\(": _TREE,
        r"\bDeno\s*\.\s*(?:writeFile|writeFileSync|create|createSync|mkdir|mkdirSync|truncate)\s*\(": _WRITE,
        r"\bDeno\s*\.\s*Command\s*\((?=\s*['\"`])": Rule(Kind.COMMAND, PLAIN),
        r"\bDeno\s*\.\s*run\s*\(\s*\{\s*cmd\s*:\s*": Rule(Kind.COMMAND, PLAIN),
        r"\bDeno\s*\.\s*(?:Command|run)\s*\(": _SHELL,
        r"(?<![\w$])(?:Bun\.)?\$\s*`[^`]{0,4000}`": _TICKS,
        r"\bprocess\s*\.\s*kill\s*\(": _KILL,
        r"\b(?:require|import)\s*\(\s*['\"](?:node:)?child_process['\"]\s*\)\s*\)": _UNNAMED,
        r"\bconstructor\s*\.\s*constructor\b|\bprocess\s*\.\s*mainModule\b": _UNNAMED,
        r"\b(?:copyFile|copyFileSync|cpSync)\s*\(": Rule(Kind.WRITE, at=1, source=0),
        r"\b(?:rename|renameSync)\s*\(": Rule(Kind.WRITE, at=1, source=0, gone=True),
        r"\b(?:symlink|symlinkSync|linkSync)\s*\(": Rule(Kind.LINK, at=1, source=0),
        r"\b(?:chmod|chmodSync)\s*\(": Rule(Kind.ATTRIBUTE, ("mode", "")),
        r"\bnet\s*\.\s*(?:connect|createConnection)\s*\(|\.connect\s*\(": _CONNECT,
        rf"\b(?:fetch|axios|got|ky|{_HTTP}\s*\.\s*request)\s*\((?={_SENDING})": _POST,
        rf"(?:\b{_CLIENTS}|require\(['\"]{_CLIENTS}['\"]\))\s*\.\s*(?:post|put|patch)\s*\(": _POST,
        r"\bnavigator\s*\.\s*sendBeacon\s*\(|\bnew\s+WebSocket\s*\(": _POST,
        rf"\b(?:fetch|{_HTTP}\s*\.\s*(?:get|request)|axios(?:\.\w+)?)\s*\(": Rule(Kind.FETCH),
        r"(?<![\w.])(?:eval|Function)\s*\(|[(,]\s*eval\s*[,)]|\bvm\s*\.\s*run\w*\s*\(": _DYNAMIC,
    },
    interpolating="`",
    interpolated=r"\$\{",
    plainly=names.javascript,
    environment=r"\bprocess\.env\b(?!\s*(?:\.\w|\[|\?\.))",
    name="node",
)

PHP = Language(
    {
        r"(?<![\w$])(?<!->)(?:system|exec|shell_exec|passthru|popen|proc_open)\s*\(": Rule(Kind.SHELL),
        r"(?<![\w$])(?<!->)pcntl_exec\s*\(": Rule(Kind.COMMAND, PLAIN),
        r"(?<![\w$])(?<!->)posix_kill\s*\(": _KILL,
        r"(?<![\w$])(?<!->)(?:parse_ini_file|highlight_file|show_source|simplexml_load_file)\s*\(": _READS,
        r"`[^`]{0,4000}`": _TICKS,
        r"(?<![\w$])(?<!->)(?:unlink|rmdir)\s*\(": _DELETE,
        r"(?<![\w$])(?<!->)(?:call_user_func(?:_array)?|array_map|array_walk|array_filter|register_shutdown_function|ob_start)\s*\("
        r"\s*['\"]\\?(?:system|exec|shell_exec|passthru|popen|proc_open)['\"]\s*,": Rule(Kind.SHELL),
        r"(?<![\w$])(?<!->)call_user_func(?:_array)?\s*\(\s*"
        r"['\"](?:unlink|rmdir|rename|copy|chmod|file_put_contents|eval)['\"]": _DYNAMIC,
        r"(?<![\w$])(?<!->)call_user_func(?:_array)?\s*\(\s*(?:['\"][^'\"]*['\"]\s*\.|\$_)": Rule(
            Kind.OPAQUE, ("which function is called is not known",)
        ),
        r"(?<![\w$])(?<!->)preg_replace\s*\(\s*(?:'/[^']*/\w*e\w*'|\"/[^\"]*/\w*e\w*\")\s*,": Rule(Kind.CODE, ("php",)),
        r"(?<![\w$])(?<!->)file_put_contents\s*\(": _WRITE_TEXT,
        r"(?<![\w$>:])(?:mkdir|touch)\s*\(": _WRITE,
        r"(?<![\w$])(?<!->)(?:include|require)(?:_once)?\b\s*\(?(?=\s*['\"](?:https?|ftp|data):)": _FETCHED,
        r"(?<![\w$])(?<!->)(?:include|require)(?:_once)?\b\s*\(?(?=\s*['\"](?!(?:https?|ftp|data):))": Rule(
            Kind.SCRIPT, ("php",)
        ),
        r"(?<![\w$])(?<!->)(?:sym)?link\s*\(": Rule(Kind.LINK, at=1, source=0),
        r"(?<![\w$])(?<!->)fopen\s*\(": _OPEN,
        r"(?<![\w$])(?<!->)copy\s*\(": Rule(Kind.WRITE, at=1, source=0),
        r"(?<![\w$])(?<!->)rename\s*\(": Rule(Kind.WRITE, at=1, source=0, gone=True),
        r"(?<![\w$])(?<!->)chmod\s*\(": Rule(Kind.ATTRIBUTE, ("mode", "")),
        r"(?<![\w$])(?<!->)(?:fsockopen|pfsockopen|stream_socket_client|socket_connect)\s*\(": _CONNECT,
        r"(?<![\w$])(?<!->)(?:socket_bind|stream_socket_server)\s*\(": Rule(Kind.LISTEN, at=1),
        r"\bCURLOPT_POST(?:FIELDS)?\b[^;]{0,10}": _POST,
        r"(?<![\w$])(?<!->)mail\s*\(": _POST,
        r"(?<![\w$])(?<!->)curl_init\s*\(": Rule(Kind.FETCH),
        r"(?<![\w$])(?<!->)(?:file_get_contents|readfile)\s*\((?=\s*['\"]https?:)": Rule(Kind.FETCH),
        r"(?<![\w$])(?<!->)(?:file_get_contents|readfile|file)\s*\(": Rule(Kind.READ),
        r"(?<![\w$])(?<!->)(?:eval|assert)\s*\(": Rule(Kind.CODE, ("php",)),
        r"(?<![\w$])(?<!->)create_function\s*\(": _DYNAMIC,
    },
    plain="'",
    plainly=names.php,
    name="php",
)

LUA = Language(
    {
        r"\bos\s*\.\s*execute\s*\(?|\bio\s*\.\s*popen\s*\(?": Rule(Kind.SHELL),
        r"\bos\s*\.\s*remove\s*\(?": _DELETE,
        r"\bos\s*\.\s*rename\s*\(": Rule(Kind.WRITE, at=1, source=0, gone=True),
        r"\bio\s*\.\s*open\s*\(": _OPEN,
        r"\bio\s*\.\s*output\s*\(": _WRITE,
        r":\s*connect\s*\(|\bsocket\s*\.\s*(?:connect|tcp)\s*\(": _CONNECT,
        r"\b(?:load|loadstring)\s*\(?": Rule(Kind.CODE, ("lua",)),
        r"\bdofile\s*\(?": Rule(Kind.SCRIPT, ("lua",)),
        r"\b(?:_G|_ENV|os|io|package\s*\.\s*loaded|require\s*\(?\s*['\"](?:os|io)['\"]\s*\)?)\s*\[": _UNNAMED,
        r"\b(?:io\s*\.\s*lines|loadfile)\s*\(?": _READS,
    },
    interpolating="",
    plainly=names.lua,
)

APPLESCRIPT = Language(
    {
        r"\bdo shell script ": Rule(Kind.SHELL),
        r"\bdo script ": Rule(Kind.SHELL),
        r"\bdelete (?:every |folder |file |item |POSIX file |\()": Rule(Kind.DELETE),
        r"\bwith administrator privileges": Rule(Kind.ESCALATE, ("osascript",)),
        r"\bdisplay dialog\b[^\n]{0,400}\bhidden answer": Rule(Kind.OPAQUE, ("asks a person for a secret",)),
        r"\brun script ": _DYNAMIC,
        r"\btell (?:application|app) ": Rule(Kind.OPAQUE, ("acts on other programs",)),
    },
    interpolating="",
)

GO = Language(
    {
        r"\bexec\.Command(?:Context)?\(": _SHELL,
        r"\bos\.RemoveAll\(": _TREE,
        r"\bos\.Remove\(": _DELETE,
        r"\bos\.(?:WriteFile|Create)\(|\bioutil\.WriteFile\(": _WRITE,
        r"\bnet\.Dial(?:Timeout)?\(\s*\"\w+\"\s*,": _CONNECT,
        r"\bnet\.Listen\(\s*\"\w+\"\s*,": Rule(Kind.LISTEN),
        r"\bhttp\.Post(?:Form)?\(": _POST,
        r"\bhttp\.(?:Get|NewRequest)\(": Rule(Kind.FETCH),
    },
    interpolating="",
)

R = Language(
    {
        r"\bsystem2?\s*\(|\bshell\s*\(": Rule(Kind.SHELL),
        r"\b(?:unlink|file\.remove)\s*\(": Rule(Kind.DELETE_TREE),
        r"\bwriteLines\s*\(": Rule(Kind.WRITE, at=1, content=0),
        r"\b(?:write\.csv|write\.table|saveRDS|write)\s*\(": Rule(Kind.WRITE, at=1),
        r"\bfile\.create\s*\(": _WRITE,
        r"\bcat\s*\([^()]{0,400}?\bfile\s*=": _WRITE,
        r"\bfile\.copy\s*\(": Rule(Kind.WRITE, at=1, source=0),
        r"\bfile\.rename\s*\(": Rule(Kind.WRITE, at=1, source=0, gone=True),
        r"\bfile\.(?:sym)?link\s*\(": Rule(Kind.LINK, at=1, source=0),
        r"\b(?:readLines|readRDS|read\.csv|scan)\s*\((?=\s*['\"](?!https?:))": Rule(Kind.READ),
        r"\bsource\s*\((?=\s*['\"](?!https?:))": Rule(Kind.SCRIPT, ("r",)),
        r"\bsource\s*\((?=\s*['\"]https?:)": _DYNAMIC,
        r"\b(?:httr::)?(?:POST|PUT|PATCH)\s*\(": _POST,
        r"\bdownload\.file\s*\(": Rule(Kind.FETCH),
        r"\beval\s*\(\s*parse": _DYNAMIC,
    },
    interpolating="",
)


def driven_by_peer(read: Language) -> Callable[[str], list[Act]]:
    """A reader for languages in which a program started beside an open connection is driven by it."""
    plain = reader(read)

    def with_peer(text: str) -> list[Act]:
        acts = plain(text)
        starts = any(act.kind in (Kind.SHELL, Kind.COMMAND) for act in acts)
        if starts:
            acts += [act._replace(kind=Kind.DRIVEN) for act in acts if act.kind in (Kind.CONNECT, Kind.LISTEN)]
        return acts

    return with_peer


TCL = Language({r"\bfile delete ": _DELETE, r"\bsocket ": _CONNECT, r"\beval ": _DYNAMIC}, interpolating="")
# `open FILE`, which reads unless a mode says otherwise; `open "|CMD"` (Tcl open(n)).
_TCL_OPENED = (
    r"\bopen[ \t]+(?P<quote>[\"{]?)(?P<pipe>\|?)[ \t]*(?P<file>[^\s\"{}\[\]$]{1,400})[\"}]?[ \t]*(?P<mode>[rwa]\+?)?"
)
_read_tcl_calls = driven_by_peer(TCL)
# `exec CMD`, expect's `spawn CMD`: words much as in a shell, up to the end of the command (Tcl(n), expect(1)).
_TCL_COMMAND = r"(?:^|[\n;\[{])[ \t]*(?:exec|spawn|system)[ \t]+(?:-\w+[ \t]+)*(?P<command>[^\n;\]}]{1,4000})"


def read_tcl(text: str) -> list[Act]:
    """Tcl and expect: what they start, delete and connect to."""
    starts = [
        Act(Kind.SHELL, Value(found["command"]), start=found.start("command"), end=found.end())
        for found in re.finditer(_TCL_COMMAND, text[:MAX_CODE])
    ]
    return starts + _tcl_opened(text[:MAX_CODE]) + _read_tcl_calls(text)


def _tcl_opened(text: str) -> list[Act]:
    kinds = {"w": Kind.WRITE, "a": Kind.APPEND}
    return [
        Act(
            Kind.SHELL if found["pipe"] else kinds.get((found["mode"] or "r")[0], Kind.READ),
            Value(found["file"], exact=not found["pipe"]),
            start=found.start(),
            end=found.end(),
        )
        for found in re.finditer(_TCL_OPENED, text)
    ]


_DEBUGGER = Language(
    {
        r"\bhost |\bshell |(?:^|[:|\n])[ \t]*sh(?:ell)?\b(?!\w)": Rule(Kind.OPAQUE, ("starts a shell",)),
        r"\bsystem(?:list)?\s*\(": Rule(Kind.SHELL),
        r"\bos\.(?:system|execute|popen)\s*\(": Rule(Kind.SHELL),
    },
    interpolating="",
)
_read_calls = reader(_DEBUGGER)
# gdb's and lldb's `shell CMD` and `!CMD` (GDB manual, Shell Commands).
_LINE = r"(?:^|[\n:|])[ \t]*(?:!|shell +)(?P<command>[^\n]{0,4000})"


def read_debugger(text: str) -> list[Act]:
    """Command lines of debuggers: what they hand to a shell, to the end of the line."""
    lines = list(re.finditer(_LINE, text[:MAX_CODE]))
    acts = [
        Act(Kind.SHELL, Value(found["command"]), start=found.start("command"), end=found.end())
        if found["command"].strip()
        else Act(Kind.OPAQUE, more=("starts a shell",), start=found.start(), end=found.end())
        for found in lines
    ]
    return acts + _read_calls(re.sub(_LINE, "", text) if lines else text)


_read_perl = reader(PERL)


def read_perl(text: str) -> list[Act]:
    """Perl; a connection whose handle becomes a standard stream is driven by its peer."""
    acts = _read_perl(text)
    if ("STDIN" in text or "fdopen" in text) and any(act.kind is Kind.CONNECT for act in acts):
        acts += [act._replace(kind=Kind.DRIVEN) for act in acts if act.kind is Kind.CONNECT]
    return acts


_read_go_calls = driven_by_peer(GO)
_GENERATED = r"(?m)^//go:generate[ \t]+([^\n]{1,4000})"


def read_go(text: str) -> list[Act]:
    """Go; the directives for `go generate` as well (`go help generate`)."""
    found = [Act(Kind.SHELL, Value(one[1]), start=one.start(1), end=one.end()) for one in re.finditer(_GENERATED, text)]
    return found + _read_go_calls(text)


READERS: dict[str, Callable[[str], list[Act]]] = {
    "perl": read_perl,
    "ruby": driven_by_peer(RUBY),
    "node": driven_by_peer(JAVASCRIPT),
    "php": driven_by_peer(PHP),
    "go": read_go,
    "lua": driven_by_peer(LUA),
    "osascript": reader(APPLESCRIPT),
    "r": reader(R),
    "tcl": read_tcl,
    "gdb": read_debugger,
}
