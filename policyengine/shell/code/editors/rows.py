"""The commands of vim, ex and ed that do more than move, show or change text (index.txt, 6. EX commands; ed(1)).

Names stand as vim's manual gives them, with what may be left out in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.editors.actions import (
    STARTS_A_SHELL,
    Line,
    appends,
    bang,
    behind,
    changes_directory,
    code_of,
    edits,
    everywhere,
    executes,
    keys,
    lets,
    modifier,
    nothing,
    opens,
    program,
    reads,
    redirects,
    saves,
    script,
    sets,
    shell,
    terminal,
    writes,
)

Handler = Callable[[Line], list[Act]]

# A bar ends their arguments (cmdline.txt, :bar).
_ENDED: dict[str, Handler] = {
    "sh[ell]": lambda line: shell(line) if line.rest.strip() else [Act(Kind.OPAQUE, more=(STARTS_A_SHELL,))],
    "mak[e] lmak[e]": program("make"),
    "gr[ep] lgr[ep] grepa[dd] lgrepa[dd]": program("grep -n"),
    "so[urce] ru[ntime]": script("vim"),
    "luaf[ile]": script("lua"),
    "pyf[ile] py3f[ile] pyxf[ile]": script("python"),
    "rubyf[ile]": script("ruby"),
    "r[ead]": reads,
    "e[dit] E": edits,
    "vi[sual] vie[w] sp[lit] vs[plit] new vne[w] tabe[dit] tabnew sv[iew] fin[d] sf[ind] tabf[ind] dr[op] ba[dd]"
    " arge[dit] ped[it] diffs[plit]": opens,
    "w[rite] wq x[it] up[date]": writes,
    "W": appends,
    "sav[eas] mks[ession] mkv[imrc] mk[exrc] mkvie[w] wu[ndo] wv[iminfo] wsh[ada] ha[rdcopy]": saves,
    "redi[r]": redirects,
    "cd chd[ir] lc[d] lch[dir] tc[d] tch[dir]": changes_directory,
    "se[t] setl[ocal] setg[lobal]": sets,
}
# Bars in their texts are part of these.
_EXPRESSIONS: dict[str, Handler] = {
    "exe[cute]": executes,
    "let cons[t]": lets,
    "cal[l] ec[ho] echom[sg] echon echoe[rr] ev[al] if elsei[f] wh[ile] for retu[rn] en[dif] fu[nction]": nothing,
}
# They take the rest of the line, or hand it on.
_WHOLE: dict[str, Handler] = {
    "!": bang,
    "ter[minal]": terminal,
    "lua luad[o]": code_of("lua"),
    "py[thon] py3 python3 pyx pythonx pyd[o] py3d[o]": code_of("python"),
    "rub[y] rubyd[o]": code_of("ruby"),
    "pe[rl] perld[o]": code_of("perl"),
    "tcl tcld[o]": code_of("tcl"),
    "sil[ent] uns[ilent] noa[utocmd] keepa[lt] keepj[umps] keepm[arks] keepp[atterns] lockm[arks] conf[irm] hid[e]"
    " vert[ical] hor[izontal] tab lefta[bove] abo[veleft] rightb[elow] bel[owright] to[pleft] bo[tright] nos[wapfile]"
    " san[dbox] bro[wse] argdo bufd[o] windo tabd[o] cdo cfd[o] ld[o] lfd[o] folddoo[pen] folddoc[losed] el[se] try"
    " fina[lly] def[er]": modifier,
    "verb[ose]": behind(0, 1),
    "au[tocmd]": behind(2, 3),
    "com[mand]": behind(1),
    "g[lobal] v[global]": everywhere,
    "norm[al] map nm[ap] vm[ap] xm[ap] im[ap] cm[ap] om[ap] tma[p] no[remap] nn[oremap] vn[oremap] xn[oremap]"
    " ino[remap] cno[remap] ono[remap] tno[remap] ab[breviate] ia[bbrev] ca[bbrev] inorea[bbrev] cnorea[bbrev]": keys,
}


def _spelled(names: str) -> Iterator[str]:
    """`so[urce]`: so, sou, sour, sourc, source."""
    for name in names.split():
        short, _, rest = name.partition("[")
        longer = rest.replace("]", "")
        yield from (short + longer[:at] for at in range(len(longer) + 1))


def _spellings(rows: Iterable[str]) -> frozenset[str]:
    return frozenset([spelling for names in rows for spelling in _spelled(names)])


COMMANDS = {
    spelling: handler
    for rows in (_WHOLE, _EXPRESSIONS, _ENDED)
    for names, handler in rows.items()
    for spelling in _spelled(names)
}
EXPRESSIONS = _spellings(_EXPRESSIONS)
WHOLE = _spellings(_WHOLE)
PIPING = _spellings(["r[ead] w[rite] e[dit] E"])  # in front of a `!`, as those of the whole line
