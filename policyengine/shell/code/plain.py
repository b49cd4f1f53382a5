"""Code of known harmless words alone, in languages that have no reader."""

from __future__ import annotations

from policyengine.patterns import lazily

MAX_CODE = 64 * 1024


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names with which code computes, prints and asks for versions; in each of the languages they do nothing else.
_COMMON = _words(
    """
    print println puts display displayln newline format printf disp say put putStrLn putStr inspect write_line
    print_endline print_string print_int print_newline string_of_int string_of_float princ prin1 terpri true
    false nil null None Some not and or if then else elsif elseif end let in def do where case of begin lambda
    fn fun map filter sum length size reverse sort sorted uniq unique max min abs sqrt floor ceil round mod div
    rem pow exp log sin cos tan pi zip take drop head tail fold foldl foldr reduce range collect each join split
    upcase downcase upper lower concat append list vector cons car cdr first last rest string str int float show
    read_only count keys values version halt exit quit typeof type class Int Float String List Array Map Set
    Enum Integer IO to_string plus minus times zeros ones rand eye numel mean median std var show_object isempty
    isnan val const
    """
)
_OF_LANGUAGES = {
    "julia": _words(
        """
        using Statistics LinearAlgebra Dates InteractiveUtils versioninfo VERSION Pkg test status Test nothing
        Threads nthreads push! sort! Dict Vector Matrix parse repr now pkgversion BLAS
        """
    ),
    "elixir": _words(
        """
        System build_info otp_release Application Regex Tuple Keyword Atom Kernel puts label is_nil Date Time
        DateTime utc_now utc_today Version
        """
    ),
    "erlang": _words(
        """
        io io_lib erlang system_info otp_release lists seq maps binary_to_list atom_to_list
        """
    ),
    "elisp": _words(
        """
        emacs-version emacs-major-version message setq byte-compile-file batch-byte-compile car cdr check-parens
        progn prin1-to-string number-to-string native-comp-available-p
        """
    ),
    "haskell": _words(
        """
        Data Char toUpper toLower words unwords lines unlines mapM_ forM_ replicate
        """
    ),
    "other": _words(
        """
        define string-length string-append string-upcase string-join
        println! lisp-implementation-version lisp-implementation-type clojure-version *clojure-version*
        Sys ocaml_version scala util Properties versionString versionNumberString GroovySystem getVersion write
        Data Char toUpper toLower words unwords mapM_ replicate ver
        """
    ),
}
_PLAIN_TEXT = lazily(r"\"(?:[^\"\\\n{$&@`]|\\.){0,2000}\"|(?<![\w'])'[^'\"()\[\]{}$&@`\n]{0,2000}'(?![\w'])")
_NAME = lazily(r"[^\W\d][\w*!?'-]*")
_WORD = lazily(r"[^\W\d]\w*!?")
_HYPHENATED = frozenset({"elisp", "other"})
_ODD = lazily(r"[^\x00-\x7f]|[`@$\x00]|!(?!=)|#[.{]|<-|<<|::|\\")


def is_plain(language: str, text: str) -> bool:
    """Whether all names in the code are among those that only compute and print, whatever is done with them."""
    known = _OF_LANGUAGES.get(language)
    if known is None or len(text) > MAX_CODE:
        return False
    code = _PLAIN_TEXT.sub('""', text)
    names = (_NAME if language in _HYPHENATED else _WORD).findall(code)
    return not _ODD.search(code) and all(len(name) == 1 or name in _COMMON or name in known for name in names)
