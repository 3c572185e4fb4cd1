"""The kinds of settings in a study file: quantities with units, names, and reserved words.

Each is an annotated base type: the text in the file becomes a number in base units on reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
)

from model import units
from model.cell import OF_HOSTS
from model.movement.random_waypoint import LEAST_MPS, MOST_MPS, WHY_NOT_0
from model.sctp_paths import PF_OFF
from testbed.study.problems import SettingError, one_of, suggestion
from testbed.study.scaling import of_run
from testbed.study.vocabulary import (
    CONGESTION_CONTROLS,
    CONTROL_NAME,
    CONTROLS_OF_TREES,
    COUNTED,
    DRAWN_OF,
    FIGURES,
    KERNEL_VERSION,
    RULES,
    SOURCE_VERSION,
    TOPOLOGIES,
)

MAX_SEED = 2**63 - 1
#: A profile's kernel where it names none.
DEFAULT = "default"
#: Listed packets are written into the program that drops them, each number in 31 bits.
MAX_PACKET_NUMBER, MAX_LISTED_PACKETS = 2**31 - 1, 1000
NO_PACKET = "none"
#: What stands for a setting's value in its label.
VALUE = "{value}"
#: Receivers say what came in each interval of this length, from the start of the run.
INTERVAL_S = 1.0
_PACKET_NUMBERS = f"whole numbers such as [8], or {NO_PACKET}"


class Settings(BaseModel):
    """Base of all models of study files: strict, frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _schema(kind: units.Kind, *words: str) -> WithJsonSchema:
    choices = "|".join([rf"[0-9]+(\.[0-9]+)? *({'|'.join(kind.units)})", *words])
    return WithJsonSchema({"type": "string", "pattern": f"^({choices})$"})


def _link_rate(text: object) -> int:
    rate_bps = units.parse_rate_bps(text, more_than="0 bit/s", at_most="1000 Gbit/s")
    if rate_bps % units.BITS_PER_BYTE:
        raise SettingError(
            "not a whole number of bytes per second",
            wanted="a multiple of 8 bit/s",
            got=units.shown(text),
            hint="the kernel counts bytes per second",
        )
    return rate_bps


def _flow_rate(text: object) -> int:
    return units.parse_rate_bps(text, more_than="0 bit/s", at_most="1000 Gbit/s")


def _delay(text: object) -> float:
    return units.parse_time_s(text, at_most="1000000 s")


def _duration(text: object) -> float:
    return units.parse_time_s(text, more_than="0 s", at_most="10000000 s")


_run_time = of_run(more_than="0 s", at_most="10000000 s")


def _period(text: object) -> float:
    return units.parse_time_s(text, at_least="10 ms", at_most="10000000 s")


def _stop(value: object, info: ValidationInfo[Any]) -> object:
    return value if value == "end" else _run_time(value, info)


def _queue(text: object) -> int:
    return units.parse_count_pkts(text, at_least="1 packet", at_most="1000000000 packets")


def _every(text: object) -> int:
    most = f"{MAX_PACKET_NUMBER} packets"
    return units.parse_count_pkts(text, at_least="2 packets", at_most=most)


def _message(text: object) -> int:
    return units.parse_size_bytes(text, at_least="1 byte", at_most="16 MiB")


def _loss(text: object) -> float:
    return units.parse_frac(text, at_most="100 %")


def _speed(text: object) -> float:
    speed_mps = units.parse_speed_mps(text, at_most=units.format_speed(MOST_MPS))
    if speed_mps < LEAST_MPS:
        wanted = f"at least {units.format_speed(LEAST_MPS)}"
        raise SettingError("out of range", wanted=wanted, got=units.shown(text), hint=WHY_NOT_0)
    return speed_mps


def _length(text: object) -> float:
    return units.parse_length_m(text, more_than="0 m", at_most="1000 km")


RateBps = Annotated[int, BeforeValidator(_link_rate), _schema(units.RATE)]
DelayS = Annotated[float, BeforeValidator(_delay), _schema(units.TIME)]
DurationS = Annotated[float, BeforeValidator(_duration), _schema(units.TIME)]
# Times of the experiment, which `--scale` shortens; the others are of the path, the hosts, a
# publication, or say how finely something is looked at.
WhenS = Annotated[float, BeforeValidator(of_run(at_most="1000000 s")), _schema(units.TIME)]
RunS = Annotated[float, BeforeValidator(_run_time), _schema(units.TIME)]
QueuePkts = Annotated[int, BeforeValidator(_queue), _schema(units.PACKETS)]
MessageBytes = Annotated[int, BeforeValidator(_message), _schema(units.SIZE)]
EveryPkts = Annotated[int, BeforeValidator(_every), _schema(units.PACKETS)]
LossFrac = Annotated[float, BeforeValidator(_loss), _schema(units.FRACTION)]
LengthM = Annotated[float, BeforeValidator(_length), _schema(units.LENGTH)]
SpeedMps = Annotated[float, BeforeValidator(_speed), _schema(units.SPEED)]

# Settings that may also be a reserved word. The word stays a word until a cell is resolved.


def _or_word(word: str, parse: Any) -> BeforeValidator:
    return BeforeValidator(lambda value: value if value == word else parse(value))


SameRateBps = Annotated[
    int | Literal["same"], _or_word("same", _link_rate), _schema(units.RATE, "same")
]
SameDelayS = Annotated[
    float | Literal["same"], _or_word("same", _delay), _schema(units.TIME, "same")
]
SameQueuePkts = Annotated[
    int | Literal["same"], _or_word("same", _queue), _schema(units.PACKETS, "same")
]
ChannelLimitPkts = Annotated[
    int | Literal["derived"], _or_word("derived", _queue), _schema(units.PACKETS, "derived")
]
StopS = Annotated[float | Literal["end"], BeforeValidator(_stop), _schema(units.TIME, "end")]
PeriodS = Annotated[
    float | Literal["derived"], _or_word("derived", _period), _schema(units.TIME, "derived")
]


def _milliseconds(text: object) -> int:
    """Return a time of SCTP's, which the kernel has in whole milliseconds."""
    time_s = units.parse_time_s(text, at_least="1 ms", at_most="1000000 s")
    ms = round(time_s * 1000)
    if abs(ms - time_s * 1000) > 1e-9:
        raise SettingError(
            "not a whole number of milliseconds", wanted="such as '1 s' or '100 ms'",
            got=units.shown(text),
        )  # fmt: skip
    return ms


def _count_of(least: int, why: str) -> Any:
    def parse(value: object) -> object:
        if not isinstance(value, int) or isinstance(value, bool):
            wanted = f"a whole number, or {OF_KERNEL_WORD}"
            raise SettingError("wrong kind", wanted=wanted, got=units.shown(value))
        if not least <= value < PF_OFF:
            wanted = f"from {least} to {PF_OFF - 1}"
            raise SettingError("out of range", wanted=wanted, got=units.shown(value), hint=why)
        return value

    return parse


def _pf_threshold(value: object) -> object:
    # A bare off is false in YAML 1.1; both mean that no path is ever potentially failed.
    return PF_OFF if value is False or value == "off" else _count_of(0, "")(value)


#: What stands for a discipline's own value of a parameter, its RFC's.
OF_DISCIPLINE = "default"
#: What the kernel takes of FQ-CoDel's queues and of what each sends in its turn.
MAX_QUEUES, QUANTUM = 65536, {"at_least": "256 bytes", "at_most": "1 MiB"}


def _stay(text: object) -> float:
    return units.parse_time_s(text, at_least="100 us", at_most="10 s")


def _quantum(text: object) -> int:
    return units.parse_size_bytes(text, **QUANTUM)


def _queues(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        wanted = f"a whole number, or {OF_DISCIPLINE}"
        raise SettingError("wrong kind", wanted=wanted, got=units.shown(value))
    if not 1 <= value <= MAX_QUEUES:
        wanted = f"from 1 to {MAX_QUEUES}"
        raise SettingError("out of range", wanted=wanted, got=units.shown(value))
    return value


StayS = Annotated[
    float | Literal["default"], _or_word(OF_DISCIPLINE, _stay), _schema(units.TIME, OF_DISCIPLINE)
]
QuantumBytes = Annotated[
    int | Literal["default"], _or_word(OF_DISCIPLINE, _quantum), _schema(units.SIZE, OF_DISCIPLINE)
]
QueueCount = Annotated[
    int | Literal["default"],
    _or_word(OF_DISCIPLINE, _queues),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"const": OF_DISCIPLINE}]}),
]

#: What stands for the kernel's own value of a parameter of paths.
OF_KERNEL_WORD = "kernel"
_count_schema = WithJsonSchema({"anyOf": [{"type": "integer"}, {"const": OF_KERNEL_WORD}]})
KernelMs = Annotated[
    int | Literal["kernel"], _or_word(OF_KERNEL_WORD, _milliseconds),
    _schema(units.TIME, OF_KERNEL_WORD),
]  # fmt: skip
Retransmissions = Annotated[
    int | Literal["kernel"],
    _or_word(OF_KERNEL_WORD, _count_of(1, "Linux takes 0 for: leave it as it is")),
    _count_schema,
]
PfRetransmissions = Annotated[
    int | Literal["kernel"],
    _or_word(OF_KERNEL_WORD, _pf_threshold),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"enum": [OF_KERNEL_WORD, "off", False]}]}),
]
FlowRateBps = Annotated[
    int | Literal["bulk"], _or_word("bulk", _flow_rate), _schema(units.RATE, "bulk")
]


def _packet_numbers(value: object) -> tuple[int, ...]:
    """Return numbers of packets in order; one alone may stand for itself, a word for none."""
    if value == NO_PACKET:
        return ()
    numbers = value if isinstance(value, tuple) else (value,)
    if not numbers:
        raise SettingError("empty", wanted=_PACKET_NUMBERS, got=units.shown(value))
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool):
            raise SettingError(
                "not a packet's number", wanted=_PACKET_NUMBERS, got=units.shown(number)
            )
        if not 1 <= number <= MAX_PACKET_NUMBER:
            raise SettingError(
                "no such packet", wanted=f"from 1 to {MAX_PACKET_NUMBER}", got=units.shown(number)
            )
    if len(numbers) > MAX_LISTED_PACKETS:
        wanted, got = f"at most {MAX_LISTED_PACKETS} packets", str(len(numbers))
        raise SettingError("too many packets", wanted=wanted, got=got)
    twice = sorted(number for number, count in Counter(numbers).items() if count > 1)
    if twice:
        raise SettingError("packet listed twice", wanted="each once", got=str(twice[0]))
    return tuple(sorted(numbers))


def _pair(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise SettingError("wrong kind", wanted="a pair's number, or next", got=units.shown(value))
    if value < 1:
        raise SettingError("out of range", wanted="at least 1", got=units.shown(value))
    return value


PairNumber = Annotated[
    int | Literal["next"],
    _or_word("next", _pair),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "next"}]}),
]


PacketNumbers = Annotated[
    tuple[int, ...],
    BeforeValidator(_packet_numbers),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
                {"type": "integer", "minimum": 1},
                {"const": NO_PACKET},
            ]
        }
    ),
]


def _pattern(name: str, pattern: str, rule: str) -> AfterValidator:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise SettingError(f"not {name}", wanted=rule, got=units.shown(text))
        return text

    return AfterValidator(check)


def _readable(text: str) -> str:
    if not text.strip():
        raise SettingError("empty", wanted="text", got=units.shown(text))
    if not text.replace("\n", " ").isprintable():
        raise SettingError("not readable", wanted="printable text", got=units.shown(text))
    return text


def _name_schema(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})


STUDY_NAME, STUDY_NAME_WORDS = r"[a-z0-9][a-z0-9_-]{0,63}", "lower-case letters, digits, - and _"
GROUP_NAME, FLOW_NAME = r"[A-Za-z][A-Za-z0-9]{0,15}", r"[A-Za-z][A-Za-z0-9_-]{0,31}"
Text = Annotated[str, AfterValidator(_readable), WithJsonSchema({"type": "string", "minLength": 1})]
DOI = r"10\.[0-9]{4,9}/\S+"
Doi = Annotated[str, _pattern("a DOI", DOI, "one such as 10.1000/182"), _name_schema(DOI)]
StudyName = Annotated[
    str, _pattern("a name", STUDY_NAME, STUDY_NAME_WORDS), _name_schema(STUDY_NAME)
]
GroupName = Annotated[
    str, _pattern("a name", GROUP_NAME, "letters and digits"), _name_schema(GROUP_NAME)
]
FlowName = Annotated[
    str, _pattern("a name", FLOW_NAME, "letters, digits, - and _"), _name_schema(FLOW_NAME)
]


def _of(kind: str, words: Collection[str]) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, str) and value not in words:
            hint = suggestion(value, words)
            raise SettingError(
                f"unknown {kind}", wanted=one_of(words, hint), got=units.shown(value), hint=hint
            )
        return value

    return BeforeValidator(check)


def _words(words: Collection[str]) -> WithJsonSchema:
    return WithJsonSchema({"enum": list(words)})


TopologyName = Annotated[str, _of("topology", TOPOLOGIES), _words(TOPOLOGIES)]
RuleName = Annotated[str, _of("rule", RULES), _words(RULES)]


def _control(value: object) -> object:
    """Check that a value can be a congestion control of some kernel; a study knows of which."""
    known = (OF_HOSTS, *CONGESTION_CONTROLS)
    if isinstance(value, str) and not CONTROL_NAME.fullmatch(value):
        hint = suggestion(value, known)
        raise SettingError(
            "unknown congestion control", wanted=one_of(known, hint), got=units.shown(value),
            hint=hint,
        )  # fmt: skip
    return value


CongestionControl = Annotated[
    str,
    BeforeValidator(_control),
    WithJsonSchema(
        {"enum": [OF_HOSTS, *CONGESTION_CONTROLS, *CONTROLS_OF_TREES]}  # so editors see mistakes
    ),
]


def _kernel(word: str, form: re.Pattern[str]) -> BeforeValidator:
    """Return a check that a value is a kernel's version of that form, or the word for none."""

    def check(value: object) -> object:
        if not isinstance(value, str) or not form.fullmatch(value):
            number = isinstance(value, float)
            raise SettingError(
                "not a kernel",
                wanted="a version in quotes such as '6.12'",
                got=units.shown(value),
                hint="without quotes 6.10 would be the number 6.1" if number else "",
            )
        return value

    return _or_word(word, check)


def _kernel_schema(word: str, form: re.Pattern[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^({word}|{form.pattern})$"})


KernelOfProfile = Annotated[
    str, _kernel(DEFAULT, SOURCE_VERSION), _kernel_schema(DEFAULT, SOURCE_VERSION)
]
KernelOfStudy = Annotated[
    str, _kernel(OF_HOSTS, KERNEL_VERSION), _kernel_schema(OF_HOSTS, KERNEL_VERSION)
]
FigureKind = Annotated[str, _of("figure", FIGURES), _words(FIGURES)]
Counted = Annotated[str, _of("count", COUNTED), _words(COUNTED)]
DrawnOf = Annotated[str, _of("quantity", DRAWN_OF), _words(DRAWN_OF)]


def _scalars(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for value in values:
        _scalar(value)
    return values


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, dict | tuple):
        raise SettingError("not one value", wanted="one value each", got=units.shown(value))
    return value


def _label(label: Any) -> Any:
    texts = label.values() if isinstance(label, dict) and label else (label,)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise SettingError(
                "not words", wanted=f"a text with {VALUE}, or a text for each value",
                got=units.shown(text),
            )  # fmt: skip
    if isinstance(label, str) and VALUE not in label:
        raise SettingError("no value in it", wanted=f"a text with {VALUE}", got=units.shown(label))
    return label


SweptValues = Annotated[tuple[Any, ...], Field(min_length=1), AfterValidator(_scalars)]
PointValue = Annotated[Any, AfterValidator(_scalar)]
SettingLabel = Annotated[
    Any, AfterValidator(_label),
    WithJsonSchema({"type": ["string", "object"], "additionalProperties": {"type": "string"}}),
]  # fmt: skip
