"""The Chinese texts of ``new``, twins of those in ``en_new``."""

from __future__ import annotations

TEXTS = {
    "help.new": "写出一个带注释的文件，里面是小的整数，可以换成自己的数；它本身就能计算。",
    "help.new.tokens": "token 的个数，即 x 的行数（3）。",
    "help.new.d_model": "一个 token 的宽度 d_model（4）。",
    "help.new.heads": "头的个数；d_model 是它的倍数（1）。",
    "help.new.d_ff": "前馈网络的宽度 d_ff；如果省略，为 d_model 的两倍。",
    "help.new.style": "块的风格：{names}（post）。",
    "new.heads": "d_model = {d_model} 不是 {heads} 个头的倍数",
    "new.heads.hint": "能整除它的头数有 {names}",
    "new.rope": "{style} 风格要成对旋转各列，所以 d_head = d_model / heads 必须是偶数；这里是 {d_head}",
    "new.style": "风格",
    "new.title": "我的块（{style}；T = {tokens}，d_model = {d_model}）",
    "new.first": "填入自己的数；现在就可以计算：blockcalc run {file}",
    "new.second": "各个键，以及文件中还可以写什么：blockcalc format",
    "new.tokens": "x 的每一行一个名称",
    "new.norm": "归一化的顺序，post 或 pre；种类，layer 或 rms；开方时加上的数",
    "new.x": "输入，[T {tokens} × d_model {d_model}]：每个 token 一行",
    "new.heads.comment": "每个头有 d_head = {d_head} 列",
    "new.n_kv_heads": "键和值的头数，由各查询头共用",
    "new.causal": "一个查询只能看到自己和之前的 token",
    "new.padding": "不让任何查询看到的 token 写 pad",
    "new.rope.comment": "查询和键按 token 的位置旋转",
    "new.product": "[{rows} × {columns}]：{formula}",
    "new.bias": "加到每一行",
    "new.out": "[{rows} × {columns}]：O = Z W_O，作用于拼接后的各头",
    "new.activation": "{names} 之一",
    "new.affine": "gamma 乘以归一化后各行的每一列",
    "new.affine.beta": "gamma 乘以归一化后各行的每一列，再加上 beta",
    "new.expect": "自己手算的结果，供 blockcalc check 使用；? 表示空着",
}
