"""The Chinese texts of Python values, twins of those in ``en_notebook``."""

from __future__ import annotations

TEXTS = {
    "repr.spec": "<Spec {title}：{order}；{tokens}，{sizes}>",
    "repr.trace": "<Trace {title}：{steps}，{order}；{tokens}，{sizes}{loss}>",
    "repr.steps": "{n} 个步骤",
    "repr.steps.one": "1 个步骤",
    "repr.tokens": "{n} 个 token",
    "repr.tokens.one": "1 个 token",
    "repr.batch": "{batch} × {n} 个 token",
    "repr.loss": "；损失 = {loss}",
    "repr.step": "<Step {n}，{name}：{formula} {shape}>",
    "repr.cost": "<Cost {title}：{parameters} 个参数；各块一次前向传播 {operations} 次运算，{tokens}>",
    "repr.comparison": "<Comparison：A {a}，B {b}；{n} 对步骤，{first}>",
    "repr.first": "第一个不同的共有步骤是 {name}",
    "repr.alike": "共有的步骤都相同",
    "repr.checked": "<Checked {source}：检查了 {steps}，{found}>",
    "repr.ok": "没有错误",
    "repr.wrong": "{n} 个有错，第一个是 {name}",
    "repr.unread": "有一部分无法读取",
    "html.matrices": "{n} 个矩阵",
    "html.more": '{name} 还有 {n} 个表格没有在这里显示；show("{name}") 会全部打印',
    "frame.pandas": "to_frame 需要 pandas，但没有安装",
    "frame.pandas.hint": "pip install pandas",
    "step.given": "{name} 是给定的矩阵，不是步骤",
    "show.detail": "detail",
    "show.pattern": "show 接受步骤名或模式，例如 'attn.*'，写成文本；这里是 {got}",
    "show.digits": "digits 是 1 到 17 的整数；这里是 {got}",
}
