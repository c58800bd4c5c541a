r"""The macros of a LaTeX document: a page, or slides, around the same body.

The body of a document calls only these. A step is ``\blockstep{name}{title}{formula}{matrices}
{arithmetic}``. TeX itself measures whether two of them fit on a line, so a body fits into any
``\linewidth``.
"""

from __future__ import annotations

from blockcalc.messages import say
from blockcalc.records import dataclass
from blockcalc.views.picture.shades import GROUNDS, INKS, QUIET

ONLY = r"\def\blockonly{attn.q, attn.scores}"  # an example

_CHOICE = r"""\ifdefined\blockonly\else\def\blockonly{}\fi
\newcommand{\blockclosed}[1]{,\zap@space#1 \@empty,}
\newcommand{\blockif}[2]{\ifx\blockonly\empty#2\else
  \edef\blocknext{\noexpand\in@{,#1,}{\expandafter\blockclosed\expandafter{\blockonly}}}%
  \blocknext\ifin@#2\fi\fi}
\gdef\blockwaiting{}% a heading is set when something below it is
\newcommand{\blockflush}{\let\blocknext\blockwaiting\gdef\blockwaiting{}\blocknext}
\newcommand{\blockend}{\ifx\blockonly\empty\blockflush\fi}
"""

_MATRICES = r"""\newsavebox{\blockbox}\newsavebox{\blockwhole}
\newdimen\blockleft \newdimen\blockwidest \newcount\blockrows
% what is wider than the line is made smaller
\newcommand{\blockfit}[1]{\sbox{\blockbox}{\small#1}\ifdim\wd\blockbox>\linewidth
  \resizebox{\linewidth}{!}{\usebox{\blockbox}}\else\usebox{\blockbox}\fi}
\newcommand{\blocklit}[1]{\setbox0\hbox{$#1$}\hbox to\wd0{\hss$\boldsymbol{#1}$\hss}}
\newcommand{\blockworked}[1]{\setbox0\hbox{$#1$}\hbox to\wd0{\hss
  \fboxsep=2pt\fboxrule=.5pt\smash{\fbox{\box0}}\hss}}
% a matrix: labels of its rows, its columns, its numbers, what stands below
\newcommand{\blockmatrix}[4]{\blockfit{$\arraycolsep=4pt
  \if\relax\detokenize{#1}\relax\else\begin{array}{@{}r@{\,}}#1\end{array}\fi
  \mathop{\left[\begin{array}{@{\,}#2@{\,}}#3\end{array}\right]}\limits_{#4}$}}
% the same with labels of its columns in the first row
\newcommand{\blocktable}[2]{\blockfit{$\setbox0\vbox{\normalbaselines
    \def\cr{\crcr\noalign{\kern2pt\global\let\cr=\endline}}%
    \ialign{\hfil##\kern8pt&\kern2pt\hfil$##$&&\kern8pt\hfil$##$\crcr
      \omit\strut\hfil\crcr\noalign{\kern-\baselineskip}#1\crcr\omit\strut\cr}}%
  \setbox2\vbox{\unvcopy0 \global\setbox1\lastbox}%
  \setbox2\hbox{\unhbox1\unskip\global\setbox1\lastbox}%
  \setbox2\hbox{$\kern\wd1\kern-6pt\displaystyle\mathop{\left[\kern-\wd1
    \global\setbox1\vbox{\box1\kern2pt}%
    \vcenter{\kern-\ht1\unvbox0\kern-\baselineskip}\kern2pt\right]}\limits_{#2}$}%
  \vbox{\kern\ht1\kern3pt\box2}$}}
\newcommand{\blocksign}[1]{\hskip.4em plus.2em\mbox{$#1$}\penalty5000\hskip.4em plus.2em\relax}
\newcommand{\blockapart}{\hskip1.6em plus1em\relax}
\newcommand{\blockfact}[2]{\textbf{#1} #2\quad\relax}
\newcommand{\blocklongfact}[2]{\par{\hangindent=1.5em \noindent\textbf{#1} #2\par}}
% a matrix of the file under its name
\newcommand{\blockgiven}[2]{\begin{tabular}[t]{@{}l@{}}\small
  \begin{tabular}{@{}l@{}}#1\end{tabular}\\[2pt]#2\end{tabular}\blockapart}
\newcommand{\blockflow}[1]{\par{\raggedright\lineskiplimit=1ex \lineskip=1ex \noindent#1\par}}
"""

_HEAT = r"""% a heat map: its columns, its rows, what stands below
\newcommand{\blockheat}[3]{\blockfit{$\arraycolsep=4pt \renewcommand{\arraystretch}{1.3}%
  \mathop{\begin{array}{@{}r@{\hskip9pt}#1}#2\end{array}}\limits_{#3}$}}
\newcommand{\blockshade}[2]{\cellcolor{blockground#1}{\color{blockink#1}#2}}
\newcommand{\blockquiet}[1]{{\color{blockquiet}#1}}
"""

_BLANKS = r"""% a number to fill in
\ifdefined\blockblank\else
\newcommand{\blockblank}[1]{\fboxsep=1pt\fboxrule=.4pt
  \raisebox{-1.1ex}{\fbox{\hbox to 3.4em{\vbox to 3.6ex{\hbox{\tiny #1}\vss}\hss}}}}
\fi
"""

_LINES = r"""% arithmetic, aligned at its first sign: the widest left side, then lines
\newcommand{\blocklines}[2]{{\small\settowidth{\blockleft}{$#1$}#2}}
\newcommand{\blockline}[3]{\par{\raggedright\hangindent=\dimexpr\blockleft+1.6em\relax
  \relpenalty=0 \binoppenalty=0 \lineskiplimit=3pt \lineskip=4pt
  \noindent\hbox to\blockleft{\hss$#1$}\hskip.28em$#2$#3\par}}
\newcommand{\blockfrac}[2]{\setbox0\hbox{$\displaystyle\frac{#1}{#2}$}%
  \ifdim\wd0>\dimexpr\linewidth-\blockleft-3em\relax(#1)\,/\,(#2)\else\dfrac{#1}{#2}\fi}
\newcommand{\blockexp}[1]{\setbox0\hbox{$e^{#1}$}%
  \ifdim\wd0>\dimexpr\linewidth-\blockleft-5em\relax\exp(#1)\else e^{#1}\fi}
\newcommand{\blocknote}[1]{\par{\lineskiplimit=3pt \lineskip=3pt \small\emph{#1}\par}}
\newcommand{\blocksaid}[1]{\par{\lineskiplimit=3pt \lineskip=3pt \small #1\par}}
\newcommand{\blockname}[1]{\enspace{\normalfont\small\texttt{#1}}}
"""

_PAGE = r"""% start a new page where little room is left, so that no heading stands alone
\newcommand{\blockroom}[1]{\par\penalty0 \begingroup\dimen0=\pagegoal
  \advance\dimen0 by-\pagetotal\relax
  \ifdim\dimen0<#1\baselineskip\ifdim\pagetotal>0pt \break\fi\fi\endgroup}
\newcommand{\blocksection}[3]{\blockend\gdef\blockwaiting{\par\lineskiplimit=0pt \lineskip=1pt
  \blockroom{10}\vskip2.4ex plus1ex
  {\parindent=0pt \raggedright\leavevmode{\large\bfseries#1}#2\quad{\small#3}\par}\nopagebreak\vskip-.6ex}}
\newcommand{\blockpart}[3]{\blockif{#1}{\blockflush\par\vskip1ex{\parindent=0pt \sloppy#3\par}}}
\newenvironment{blocksteps}{\par\parindent=0pt \parskip=0pt \raggedright\sloppy\clubpenalty=0 \widowpenalty=0 }{\par}
% the width of a step: of matrices and arithmetic, and of title and formula if they are short
\newcommand{\blockwider}[1]{\ifdim#1>\blockwidest\global\blockwidest=#1\relax\fi}
\newcommand{\blocknatural}[1]{\setbox0\vbox{\hsize=\linewidth \parindent=0pt
    \rightskip=0pt plus1fil \relpenalty=0 \binoppenalty=0 \noindent#1\par
    \global\blockrows=\prevgraf}%
  \ifnum\blockrows>1 \global\blockwidest=\linewidth\else
  \sbox{\blockwhole}{#1}\blockwider{\wd\blockwhole}\fi}
\newcommand{\blockmeasure}[4]{\global\blockwidest=.3\linewidth\relax
  \setbox0\vbox{\def\blockline##1##2##3{\blocknatural{\small$##1\ ##2$##3}}#4}\blocknatural{#3}%
  \sbox{\blockwhole}{\bfseries#1}\blockshort\sbox{\blockwhole}{\def\par{}#2}\blockshort}
\newcommand{\blockshort}{\ifdim\wd\blockwhole<.45\linewidth\blockwider{\wd\blockwhole}\fi}
\newcommand{\blockbody}[4]{\lineskiplimit=2pt \lineskip=2pt \sbox{\blockbox}{{\bfseries#1}\quad\def\par{}#2}%
  {\bfseries#1}\ifdim\wd\blockbox<\linewidth\quad\else\par\nobreak\fi#2\par\nobreak\vskip.5ex
  {\centering\lineskiplimit=1ex \lineskip=1ex #3\par}\nobreak\vskip.5ex #4}
% as many steps stand on a line as fit; only one of more than half a page breaks between pages
\newcommand{\blockstep}[5]{\blockif{#1}{\blockflush\blockmeasure{#2}{#3}{#4}{#5}%
  \advance\blockwidest by 1pt \global\blockrows=0
  \ifdim\blockwidest>.97\linewidth
    \blockwidest=\linewidth\setbox0\vbox{\hsize=\linewidth\blockbody{#2}{#3}{#4}{#5}\par}%
    {\vbadness=10000 \vfuzz=\maxdimen \setbox2\vsplit0 to.5\textheight}%
    \ifvoid0\else\global\blockrows=1 \fi\fi
  \ifnum\blockrows=1
    \par\vskip2ex plus1ex{\blockbody{#2}{#3}{#4}{#5}\par}%
  \else
    \ifvmode\vskip2ex plus1ex\fi\lineskiplimit=2ex \lineskip=2ex plus1ex
    \leavevmode\begin{minipage}[t]{\blockwidest}\raggedright
      \blockbody{#2}{#3}{#4}{#5}\end{minipage}\hskip1.5em plus1fil\relax
  \fi}\ignorespaces}
"""

_SLIDES = r"""\newsavebox{\blockslide}\newdimen\blocktall
\newcommand{\blocktry}[3]{\ifx\blockscale\empty
  \sbox{\blockslide}{\begin{minipage}{#1\textwidth}\raggedright#3\end{minipage}}%
  \ifdim\dimexpr\ht\blockslide+\dp\blockslide\relax<#1\blocktall\gdef\blockscale{#2}\fi\fi}
% a frame; what is a little too tall is made smaller, what is taller goes on in another frame
\newcommand{\blockframe}[2]{\blocktall=.8\textheight\gdef\blockscale{}%
  \blocktry{.7}{1.42}{#2}\blocktry{.85}{1.17}{#2}%
  \blocktry{1}{1}{#2}\blocktry{1.15}{.869}{#2}\blocktry{1.3}{.769}{#2}\blocktry{1.5}{.666}{#2}%
  \ifx\blockscale\empty
    \begin{frame}[allowframebreaks=.7]{#1}\raggedright#2\end{frame}%
  \else
    \begin{frame}{#1}\scalebox{\blockscale}{\usebox{\blockslide}}\end{frame}%
  \fi}
\newcommand{\blocksection}[3]{\blockend\gdef\blockwaiting{}\def\blocknext{#3}\ifx\blocknext\empty\else
  \gdef\blockwaiting{\blockframe{#1#2}{#3}}\fi}
\newcommand{\blockpart}[3]{\blockif{#1}{\blockflush\blockframe{#2}{#3}}}
\newenvironment{blocksteps}{}{}
\newcommand{\blockstep}[5]{\blockif{#1}{\blockflush\blockframe{#2}{#3\par\vskip1ex
  {\centering\lineskiplimit=1ex \lineskip=1ex #4\par}\vskip1ex #5}}}
"""

_PDFLATEX = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{lmodern}"""
_XELATEX = r"\documentclass[UTF8,fontset=fandol,zihao=5]{ctexart}"
_BEAMER = r"""\documentclass[aspectratio=169,11pt]{beamer}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{lmodern}"""
_XEBEAMER = r"""\documentclass[aspectratio=169,11pt]{beamer}
\usepackage[UTF8,fontset=fandol]{ctex}"""
_COLOURS = "\\usepackage[table]{xcolor}\n"
_LISTS = "\\usepackage{longtable}\n"
_ONE_PAGE = r"""\usepackage[a4paper,margin=20mm,top=19mm]{geometry}
\setlength{\parindent}{0pt}
\raggedbottom
"""
_ONE_SLIDE = r"""\usefonttheme[onlymath]{serif}
\usecolortheme{dove}
\setbeamertemplate{navigation symbols}{}
\setbeamertemplate{footline}{\hfill\scriptsize\insertframenumber\enspace\vspace{1ex}}
"""


@dataclass(frozen=True)
class Kind:
    """What a body has, on which its packages and macros depend.

    Attributes
    ----------
    slides : bool
        Whether it is for beamer.
    chinese : bool
        Whether it has Chinese or Japanese, so that it needs xelatex.
    lists : bool
        Whether it has long lists, which are measured by setting it twice.
    heat : bool
        Whether it has heat maps, which need colours.
    blanks : bool
        Whether it has numbers to fill in.
    """

    slides: bool = False
    chinese: bool = False
    lists: bool = False
    heat: bool = False
    blanks: bool = False

    @property
    def packages(self) -> str:
        """The names of the packages that a body needs."""
        names = ["amsmath", "textcomp", "graphicx"]
        names += ["longtable"] if self.lists else []
        names += ["xcolor (table)"] if self.heat else []
        names += ["beamer"] if self.slides else []
        names += ["ctex (xelatex)"] if self.chinese else []
        return ", ".join(names)


def macros(kind: Kind) -> str:
    """Give the definitions; a second body in the same document does not repeat them."""
    comment = f"% {say('latex.only', command=ONLY)}\n"
    own = _CHOICE + _MATRICES + _LINES + (_SLIDES if kind.slides else _PAGE)
    text = f"\\makeatletter\\ifdefined\\blockstep\\else\n{comment}{own}\\fi\\makeatother\n"
    return text + (_BLANKS if kind.blanks else "") + (_heat_macros() if kind.heat else "")


def _heat_macros() -> str:
    """Give the definitions and colours of heat maps."""
    colours = {"quiet": QUIET}
    colours |= {f"ground{n}": colour for n, colour in enumerate(GROUNDS)}
    colours |= {f"ink{n}": colour for n, colour in enumerate(INKS)}
    lines = (
        rf"\definecolor{{block{name}}}{{HTML}}{{{colour[1:].upper()}}}"
        for name, colour in colours.items()
    )
    own = _HEAT + "".join(f"{line}\n" for line in lines)
    return f"\\ifdefined\\blockheat\\else\n{own}\\fi\n"


def preamble(kind: Kind) -> str:
    """Give what stands before the body of a whole document."""
    engine = "xelatex" if kind.chinese else "pdflatex"
    if kind.slides:
        first, more = _XEBEAMER if kind.chinese else _BEAMER, _ONE_SLIDE
    else:
        first, more = _XELATEX if kind.chinese else _PDFLATEX, _ONE_PAGE
    if kind.heat and kind.slides:  # beamer loads the package itself
        first = first.replace("11pt]", "11pt,xcolor=table]")
    elif kind.heat:
        more = _COLOURS + more
    twice = f", {say('latex.twice')}" if kind.lists else ""
    return (
        f"% !TEX program = {engine}\n% {say('latex.set', engine=engine)}{twice}\n{first}\n"
        f"\\usepackage{{amsmath,textcomp,graphicx}}\n{_LISTS if kind.lists else ''}{more}"
        f"{macros(kind)}\\begin{{document}}\n"
    )
