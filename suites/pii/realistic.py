"""A third corpus: values in the texts in which they occur outside of sentences, such as logs, JSON, tables and code.

The values come from Faker and from the lists here; the rules were not made for them. Half of the corpus, chosen by a hash of
the text, is held out.
"""

import base64
import json
import random
import string

from pii.corpus import sample, seeded

TEXTS_PER_MAKER = 16

# Forms of telephone numbers by country: # is any digit.
PHONES = {
    "US": "(2##) 3##-####", "CA": "2##-3##-####", "GB": "+44 20 7946 ####", "DE": "+49 30 #######", "FR": "06 ## ## ## ##",
    "ES": "+34 6## ### ###", "IT": "+39 06 #### ####", "NL": "+31 6 ########", "BE": "+32 2 ### ## ##", "AT": "+43 1 #######",
    "CH": "+41 44 ### ## ##", "SE": "+46 8 ### ### ##", "NO": "+47 ## ## ## ##", "DK": "+45 ## ## ## ##", "FI": "+358 40 #######",
    "PL": "+48 ### ### ###", "PT": "+351 91# ### ###", "IE": "+353 1 ### ####", "GR": "+30 21# ### ####", "CZ": "+420 ### ### ###",
    "BR": "+55 11 9####-####", "MX": "+52 55 #### ####", "IN": "+91 98### #####", "JP": "+81 3-####-####", "CN": "+86 138 #### ####",
    "AU": "+61 2 #### ####", "KR": "+82 10-####-####", "ZA": "+27 82 ### ####", "TR": "+90 532 ### ## ##", "AE": "+971 50 ### ####",
    "US with extension": "2##-3##-####x###", "US with prefix": "001-2##-3##-####",
}
# Texts with a place for the value.
CARRIERS = {
    "log": "2026-01-14T09:{m}:22.118Z INFO [worker-3] request_id={u} {k}={v} status=200 took=41ms",
    "json": '{{"id": {n}, "{k}": "{v}", "active": true, "version": "1.4.{s}"}}',
    "csv": "id,name,{k},score\n{n},Ann,{v},0.{s}\n",
    "code": 'client.send({k}="{v}", retries={s})  # see issue {n}',
    "markdown": "| field | value |\n|---|---|\n| {k} | {v} |\n| total | {n} |",
    "yaml": "user:\n  id: {n}\n  {k}: {v}\n  level: {s}\n",
    "mail": "Hi,\n\nplease update my record.\n{k}: {v}\nTicket {n}\n\nBest, Ann",
    "query": "UPDATE users SET {k} = '{v}' WHERE id = {n};",
}
KEYS = {
    "email": ["email", "contact_email", "userEmail"], "phone": ["phone", "homePhone", "phone_number", "mobile"],
    "ssn": ["ssn", "social_security"], "credit_card": ["card", "card_number", "pan"], "iban": ["iban", "account", "bankAccount"],
    "ip_address": ["client_ip", "remote_addr", "ip"], "mac_address": ["mac", "hw_addr"], "jwt": ["jwt", "authorization", "session"],
    "date_of_birth": ["dob", "date_of_birth", "dateOfBirth", "birth_date"], "connection_string": ["url", "dsn", "database_url"],
    "api_key": ["key", "value", "config"],
}


def digits(form, chance):
    return "".join(chance.choice(string.digits) if letter == "#" else letter for letter in form)


def jwt(_, chance):
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": str(chance.randrange(10**9)), "exp": 1790000000}]
    encode = lambda content: base64.urlsafe_b64encode(content).decode().rstrip("=")
    return ".".join([*(encode(json.dumps(part).encode()) for part in parts), encode(chance.randbytes(32))])


def letters(chance, count, alphabet=string.ascii_letters + string.digits):
    return "".join(chance.choice(alphabet) for _ in range(count))


def spaced(separator, size):
    return lambda number: separator.join(number[at : at + size] for at in range(0, len(number), size))


def connection(form):
    return lambda faker, chance: form.format(u=faker.user_name(), p=letters(chance, 12), h=faker.domain_name(), d=faker.word())


CONNECTIONS = [
    "postgres://{u}:{p}@{h}:5432/{d}", "mysql://{u}:{p}@{h}/{d}?ssl=true", "mongodb+srv://{u}:{p}@{h}/{d}?retryWrites=true", "redis://:{p}@{h}:6379/0",
    "amqp://{u}:{p}@{h}:5672/{d}", "Server={h};Database={d};User Id={u};Password={p}", "jdbc:sqlserver://{h}:1433;databaseName={d};user={u};password={p}",
    "oracle+cx_oracle://{u}:{p}@{h}:1521/{d}", "clickhouse://{u}:{p}@{h}:9000/{d}", "DefaultEndpointsProtocol=https;AccountName={u};AccountKey={p}{p}{p}==",
]
TOKENS = [
    lambda c: "ghp_" + letters(c, 36), lambda c: "AKIA" + letters(c, 16, string.ascii_uppercase + string.digits), lambda c: "glpat-" + letters(c, 20),
    lambda c: "sk-ant-api03-" + letters(c, 60), lambda c: "AIza" + letters(c, 35), lambda c: f"xoxb-{c.randrange(10**11, 10**12)}-" + letters(c, 24),
    lambda c: "SG." + letters(c, 22) + "." + letters(c, 43), lambda c: "npm_" + letters(c, 36), lambda c: "hf_" + letters(c, 34), lambda c: "sk_live_" + letters(c, 24),
]

# Kind, locale and maker.
MAKERS = [
    *(("email", "en_US", lambda faker, _: faker.email()),) * 3,
    ("email", "es_ES", lambda faker, chance: f"{faker.user_name()}+{chance.randrange(99)}@{faker.domain_name(2)}"),
    *(("phone", "en_US", lambda _, chance, form=form: digits(form, chance)) for form in PHONES.values()),
    *(("ssn", "en_US", lambda faker, _: faker.ssn()),) * 4,
    *(("credit_card", "en_US", lambda faker, _, write=write: write(faker.credit_card_number(card_type="visa16"))) for write in (str, spaced("-", 4), spaced(" ", 4))),
    *(("iban", locale, lambda faker, _: spaced(" ", 4)(faker.iban())) for locale in ("de_DE", "en_GB", "fr_FR", "nl_NL", "it_IT", "es_ES")),
    *(("ip_address", "en_US", lambda faker, _: faker.ipv4_public()),) * 3,
    ("ip_address", "en_US", lambda _, chance: f"2001:db8:{chance.randrange(1, 9999)}::{chance.randrange(1, 9999)}"),
    ("ip_address", "en_US", lambda _, chance: f"fe80::{chance.randrange(1, 9999):x}:{chance.randrange(10, 9999)}"),
    *(("mac_address", "en_US", lambda faker, _: faker.mac_address()),) * 3,
    ("mac_address", "en_US", lambda faker, _: faker.mac_address().upper().replace(":", "-")),
    *(("jwt", "en_US", jwt),) * 4,
    *(("date_of_birth", "en_US", lambda faker, _, form=form: faker.date_of_birth().strftime(form)) for form in ("%Y-%m-%d", "%d/%m/%Y", "%d-%b-%Y", "%Y%m%d", "%B %d, %Y")),
    *(("connection_string", "en_US", connection(form)) for form in CONNECTIONS),
    *(("api_key", "en_US", lambda _, chance, make=make: make(chance)) for make in TOKENS),
]
# Values of no kind, under names that say nothing of a person.
NEGATIVE_KEYS = ["order", "build", "checksum", "offset", "trace", "revision", "sku", "created", "etag"]
NEGATIVES = [
    lambda faker, chance: digits("##########", chance), lambda faker, chance: digits("####-####-####", chance), lambda faker, _: faker.uuid4(),
    lambda faker, _: faker.sha256(), lambda faker, _: faker.md5(), lambda faker, chance: digits("#.##.#", chance), lambda faker, _: faker.iso8601(),
    lambda faker, chance: digits("17########", chance), lambda faker, _: faker.isbn13(), lambda faker, chance: digits("##:##:##.###", chance),
    lambda faker, chance: f"{chance.uniform(-90, 90):.6f},{chance.uniform(-180, 180):.6f}", lambda faker, chance: f"0x{chance.randrange(2**32):08x}",
    lambda faker, chance: digits("20##-0#-1#", chance), lambda faker, _: f"https://{faker.domain_name()}/a/b?page=2", lambda faker, chance: f"std::vec::Vec<{faker.word()}>",
    lambda faker, chance: digits("INV-####-######", chance), lambda faker, chance: f"postgres://localhost:5432/{faker.word()}", lambda faker, chance: f"{faker.word()}@2x.png",
]


def realistic():
    chance = random.Random(11)
    random.seed(11)
    makers = {locale: seeded(locale) for locale in {locale for _, locale, _ in MAKERS}}
    samples = []
    for kind, locale, make in MAKERS:
        for _ in range(TEXTS_PER_MAKER):
            samples.append(carried(chance, chance.choice(KEYS[kind]), make(makers[locale], chance), kind))
    for make in NEGATIVES:
        for _ in range(2 * TEXTS_PER_MAKER):
            samples.append(carried(chance, chance.choice(NEGATIVE_KEYS), make(makers["en_US"], chance), None))
    return samples


def carried(chance, key, value, kind):
    form = CARRIERS[chance.choice(list(CARRIERS))]
    fields = {"k": key, "n": chance.randrange(10**5), "s": chance.randrange(10, 99), "m": chance.randrange(10, 59), "u": f"{chance.randrange(2**40):x}"}
    text = form.format(v=value, **fields)
    start = form.format(v="\0", **fields).index("\0")
    return sample(text, [(kind, start, start + len(value))] if kind else [])
