"""Two corpora of sentences with and without personal data: the generated one of `crates/guardrails`, and one of Faker.

Both are the same in every run. Half of each, chosen by a hash of the sentence, is held out: rules are not adjusted to it.
"""

import dataclasses
import datetime
import hashlib
import json
import pathlib
import random
import subprocess

from faker import Faker
from faker.providers import date_time

import rig


class FixedClock(datetime.datetime):
    """The time of Faker: its dates lie before now, and the corpus would otherwise be another one every day."""

    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 1, tzinfo=tz)


date_time.datetime = FixedClock

SENTENCES_PER_MAKER = 100
NEGATIVES = 2000


@dataclasses.dataclass(frozen=True)
class Sample:
    text: str
    # Kinds with start and end, in characters.
    values: frozenset
    held_out: bool


def example(*arguments, **options):
    """Runs the example that has the rules."""
    path = pathlib.Path(rig.binary("gatehouse")).parent / "examples" / "pii_figures"
    if not path.exists():
        raise SystemExit("pii_figures is not built: cargo build -p guardrails --example pii_figures")
    result = subprocess.run([path, *arguments], capture_output=True, text=True, check=True, **options)
    return [json.loads(line) for line in result.stdout.splitlines()]


def generated():
    return [Sample(line["text"], values(line["values"]), line["held_out"]) for line in example("corpus")]


def findings(samples):
    """The values that the gateway's rules find in each sentence."""
    lines = "".join(json.dumps(sample.text) + "\n" for sample in samples)
    return [values(line) for line in example("find", input=lines)]


def values(lines):
    return frozenset((kind, start, end) for kind, start, end in lines)


def fake():
    """Sentences with values that Faker makes, and sentences that only look like it."""
    chance = random.Random(7)
    # Some of Faker's numbers come from the shared generator.
    random.seed(7)
    makers = {locale: seeded(locale) for locale in {locale for _, locale, _, _ in VALUES}}
    english = seeded("en_US")
    samples = []
    for kind, locale, make, words in VALUES:
        for _ in range(SENTENCES_PER_MAKER):
            value, word = make(makers[locale]), chance.choice(words)
            before = f"{english.sentence()} {word}"
            text = f"{before}{value}{chance.choice(ENDS)} {english.sentence()}"
            samples.append(sample(text, [(kind, len(before), len(before) + len(value))]))
    for _ in range(NEGATIVES):
        text = f"{english.sentence()} {chance.choice(NEGATIVE_VALUES)(english)}{chance.choice(ENDS)} {english.sentence()}"
        samples.append(sample(text, []))
    return samples


def seeded(locale):
    faker = Faker(locale)
    faker.seed_instance(7)
    return faker


def sample(text, values):
    held_out = hashlib.sha256(text.encode()).digest()[0] % 2 == 1
    return Sample(text, frozenset(values), held_out)


ENDS = [",", ".", ";", " -", "\n", " (urgent)."]
ANY = ["", "It is ", "Please note ", "value: ", "My data: "]
PHONE = ["phone ", "Tel.: ", "call me at ", "mobile: "]

# Kind, locale, maker, and the words before the value.
VALUES = [
    ("email", "en_US", lambda faker: faker.email(), ANY),
    ("email", "de_DE", lambda faker: faker.ascii_company_email(), ANY),
    ("email", "fr_FR", lambda faker: faker.ascii_free_email(), ANY),
    ("phone", "en_US", lambda faker: faker.basic_phone_number(), PHONE),
    ("phone", "de_DE", lambda faker: faker.phone_number(), PHONE),
    ("phone", "fr_FR", lambda faker: faker.phone_number(), PHONE),
    ("phone", "en_GB", lambda faker: faker.phone_number(), PHONE),
    ("ssn", "en_US", lambda faker: faker.ssn(), ANY),
    ("credit_card", "en_US", lambda faker: faker.credit_card_number(card_type=faker.random_element(CARDS)), ANY),
    ("iban", "de_DE", lambda faker: faker.iban(), ANY),
    ("iban", "en_GB", lambda faker: faker.iban(), ANY),
    ("iban", "fr_FR", lambda faker: faker.iban(), ANY),
    ("ip_address", "en_US", lambda faker: faker.ipv4_public(), ANY),
    ("ip_address", "en_US", lambda faker: faker.ipv6(), ANY),
    ("mac_address", "en_US", lambda faker: faker.mac_address(), ANY),
    ("national_id", "pt_BR", lambda faker: faker.cpf(), ANY),
    ("national_id", "es_ES", lambda faker: faker.nie(), ANY),
    ("national_id", "it_IT", lambda faker: faker.ssn(), ANY),
    ("national_id", "pl_PL", lambda faker: faker.pesel(), ["PESEL ", "PESEL: "]),
    ("national_id", "nl_NL", lambda faker: faker.ssn(), ["BSN ", "BSN: "]),
    ("national_id", "en_CA", lambda faker: faker.ssn(), ["SIN ", "SIN: "]),
    ("national_id", "tr_TR", lambda faker: faker.ssn(), ["TC kimlik no ", "TCKN: "]),
    ("date_of_birth", "en_US", lambda faker: faker.date_of_birth().isoformat(), ["born on ", "DOB: ", "date of birth "]),
    ("date_of_birth", "en_US", lambda faker: faker.date_of_birth().strftime("%m/%d/%Y"), ["born on ", "DOB: "]),
    ("date_of_birth", "de_DE", lambda faker: faker.date_of_birth().strftime("%d.%m.%Y"), ["geboren am ", "Geburtsdatum: "]),
]
# Without JCB: Faker takes numbers that JCB does not have.
CARDS = ["visa16", "mastercard", "amex", "discover"]

# Order numbers, UUIDs, hashes, versions, timestamps and the like.
NEGATIVE_VALUES = [
    lambda faker: f"order {faker.numerify('##########')}",
    lambda faker: f"invoice {faker.numerify('INV-####-######')}",
    lambda faker: f"tracking {faker.bothify('1Z??????##########').upper()}",
    lambda faker: f"ticket #{faker.random_number(digits=7)}",
    lambda faker: faker.uuid4(),
    lambda faker: f"md5 {faker.md5()}",
    lambda faker: f"commit {faker.sha1()}",
    lambda faker: f"sha256:{faker.sha256()}",
    lambda faker: f"version {faker.numerify('#.##.###')}",
    lambda faker: f"v{faker.random_digit()}.{faker.random_digit()}.{faker.random_digit()}",
    lambda faker: faker.iso8601(),
    lambda faker: str(int(faker.unix_time())),
    lambda faker: str(int(faker.unix_time()) * 1000),
    lambda faker: f"on {faker.date()}",
    lambda faker: f"ISBN {faker.isbn13()}",
    lambda faker: f"EAN {faker.ean13()}",
    lambda faker: f"SKU {faker.bothify('??######').upper()}",
    lambda faker: faker.hex_color(),
    lambda faker: faker.file_path(),
    lambda faker: f"{faker.latitude()}, {faker.longitude()}",
    lambda faker: f"${faker.random_number(digits=6):,}",
    lambda faker: f"port {faker.port_number()}",
    lambda faker: faker.uri(),
    lambda faker: f"{faker.street_address()}, {faker.postcode()}",
]
