"""What a model's name says: family, generation, tier, size; aliases of one model compare equal.

Names are compared after dropping what only addresses or dates them: vendor prefixes and paths
(`openai/`, `models/`, `accounts/x/models/`, `us.anthropic.`), release dates (`-2024-08-06`,
`-0613`, `@20241022`), `-latest`, `-preview`, revision marks (`-001`, `-v1:0`), and variants of
serving (`:free`, `-fp8`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

Comparison: TypeAlias = Literal["same", "other", "unknown"]


class ModelName(msgspec.Struct, frozen=True, gc=False):
    """A model's name, taken apart."""

    plain: str
    """Without address, date and marks, in lower case."""
    family: str | None
    """`None` when no family is known by this name."""
    generation: tuple[str, ...]
    tiers: frozenset[str]
    size: str | None
    """Parameter count as written, such as `70b` or `8x7b`."""
    others: frozenset[str]
    """What is left: variants that say nothing about family or size."""


_FAMILIES = frozenset(
    {
        "gpt", "claude", "gemini", "gemma", "llama", "qwen", "qwq", "mistral", "mixtral",
        "ministral", "magistral", "codestral", "devstral", "pixtral", "voxtral", "deepseek",
        "grok", "command", "phi", "glm", "chatglm", "kimi", "moonshot", "yi", "nova", "titan",
        "jamba", "falcon", "granite", "nemotron", "hermes", "minimax", "abab", "ernie",
        "doubao", "hunyuan", "olmo", "dbrx", "starcoder", "sonar", "palm", "bison", "davinci",
        "babbage", "inflection", "solar", "exaone", "smollm", "internlm", "aya", "wizardlm",
        "vicuna", "zephyr", "orca", "step", "baichuan",
    }
)  # fmt: skip
_SAME_FAMILY = {"chatgpt": "gpt", "codellama": "llama", "moonshot": "kimi", "chatglm": "glm"}
_TIERS = frozenset(
    {
        "nano", "mini", "micro", "small", "medium", "large", "ultra", "pro", "plus", "flash",
        "lite", "opus", "sonnet", "haiku", "instant", "premier", "distill", "oss", "embedding",
        "tiny", "codex",
    }
)  # fmt: skip
_NOISE = frozenset(
    {
        "latest", "preview", "exp", "experimental", "beta", "alpha", "instruct", "chat", "it",
        "hf", "api", "online", "free", "nitro", "floor", "extended", "exacto", "thinking",
        "reasoning", "versatile", "stable", "default", "meta", "ai", "model", "v",
    }
)  # fmt: skip
_ALIASES = {
    "gpt-4-turbo-preview": ("gpt-4-0125-preview", "gpt-4-1106-preview"),
    "gpt-4-turbo": ("gpt-4-turbo", "gpt-4-1106-preview", "gpt-4-0125-preview"),
    "deepseek-chat": ("deepseek-v3", "deepseek-v3.1", "deepseek-v3.2"),
    "deepseek-reasoner": ("deepseek-r1", "deepseek-v3.1", "deepseek-v3.2"),
}
"""Documented aliases whose name does not show what they stand for."""
_ROUTERS = frozenset({"auto", "default", "router", "model-router", "best", "optimus"})

_DATE = re.compile(
    r"(?:[-@_](?:19|20)\d{2}-?[01]\d-?[0-3]\d"  # 2024-08-06, 20240806
    r"|[-@_](?:preview|exp|experimental)(?:-\d{1,2}-\d{2,4}|-\d{4})"  # preview-05-20, exp-0827
    r"|[-@_][01]\d-20\d{2}|[-@_](?:19|20)?\d{2}[01]\d(?!\d)(?![a-z])"  # 09-2025, 2411, 202411
    r"|[-@_][01]\d[0-3]\d(?!\d)(?![a-z])"  # 0613
    r")(?=$|[-@_:])"
)
_REVISION = re.compile(r"[-@_]0\d{2}(?=$|[-@_:])|[-_]v\d+:\d+$|[-_@]v\d+$(?<=\d)")
_REGION = re.compile(r"^(?:us|eu|apac|global|us-gov|jp|au)\.(?=[a-z]+\.)")
_VENDOR = re.compile(
    r"^(?:anthropic|openai|meta|amazon|cohere|mistral|google|ai21|deepseek|qwen|writer|stability|azure)\."
)
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+x)?(\d+(?:\.\d+)?)([bt])(?![a-z0-9])")
_SERVING = re.compile(
    r"[-_:.](?:i?q\d(?:_[a-z0-9]+)*|fp\d+|bf16|int\d+|\d+bit|awq|gptq|gguf|mlx|a\d+(?:\.\d+)?b)"
    r"(?=$|[-_:.])"
)
_TOKEN = re.compile(r"\d+(?:\.\d+)*[a-z]?(?![a-z0-9])|[a-z]+|\d+")


@lru_cache(maxsize=1024)
def parse(name: str) -> ModelName:
    """Take a model's name apart."""
    plain = _plain(name)
    size = _SIZE.search(plain)
    rest = _SIZE.sub(" ", plain)
    family: str | None = None
    numbers: list[str] = []
    tiers: set[str] = set()
    others: set[str] = set()
    reasoner = re.match(r"o(\d)(?![a-z0-9])", rest)
    if reasoner is not None:
        family, rest = "gpt-o", rest[1:]
    tokens: list[str] = _TOKEN.findall(rest)
    for token in tokens:
        word = _SAME_FAMILY.get(token, token)
        if word in _FAMILIES and family is None:
            family = word
        elif word in _TIERS:
            tiers.add(word)
        elif token.isdigit() and len(token) > 3:
            continue  # a year, or a date in a form that is not known
        elif token[0].isdigit() and token[-1] != "k":
            numbers.extend(token.split("."))
        elif word not in _NOISE and word != family:
            others.add(word)
    while len(numbers) > 1 and numbers[-1] == "0":
        numbers.pop()
    return ModelName(
        plain=plain,
        family=family,
        generation=tuple(numbers),
        tiers=frozenset(tiers),
        size="".join(filter(None, size.groups())) if size is not None else None,
        others=frozenset(others),
    )


@lru_cache(maxsize=1024)
def compare(asked: str, answered: str) -> Comparison:
    """Say whether two names are of one model.

    Returns:
        `other` when family, generation, tier or size differ; `unknown` when the asked name is of no
        known family, or the names differ in what says nothing about these.
    """
    if asked == answered:
        return "same"
    left, right = parse(asked), parse(answered)
    if left.plain == right.plain:
        return "same"
    if left.plain in _ROUTERS:
        return "unknown"
    bare = _address_off(asked)
    if any(_address_off(answered).startswith(alias) for alias in _ALIASES.get(bare, ())):
        return "same"
    if left.family is None:
        return "same" if _extends(left.plain, right.plain) else "unknown"
    if right.family is None:
        return "unknown" if left.plain in right.plain else "other"
    return _compare_known(left, right)


def _compare_known(left: ModelName, right: ModelName) -> Comparison:
    if left.family != right.family:
        return "other"
    if left.size is not None and right.size is not None and left.size != right.size:
        return "other"
    if left.tiers != right.tiers and not (_is_bare(left) or _is_bare(right)):
        return "other"
    if left.generation and right.generation and left.generation != right.generation:
        return "other"
    if left.tiers != right.tiers or left.others != right.others:
        return "unknown"
    if right.generation == () and left.generation:
        return "unknown"
    return "same"


def _is_bare(name: ModelName) -> bool:
    """Say whether a name gives the family alone (`gemini`), so that it may stand for any of it."""
    return not name.generation and not name.tiers and name.size is None


def _extends(short: str, long: str) -> bool:
    return long.startswith(short) and long[len(short)] in "-:@_."


def _address_off(name: str) -> str:
    name = name.strip().lower().rstrip("/").rpartition("/")[2]
    name = _VENDOR.sub("", _REGION.sub("", name))
    return name.removesuffix(".gguf")


def _plain(name: str) -> str:
    name = _address_off(name)
    name = re.sub(r":(?:free|nitro|floor|beta|extended|online|exacto|thinking|latest)$", "", name)
    name = re.sub(r"(?<=\d)p(?=\d)", ".", name).replace("gpt-35", "gpt-3.5")
    name = _SERVING.sub("", name)
    previous = ""
    while previous != name:
        previous = name
        name = _REVISION.sub("", _DATE.sub("", name))
        name = re.sub(r"[-_:](?:latest|preview|exp)$", "", name)
    return name
