"""The pattern recognisers of presidio-analyzer, without a language model.

The recognisers of all entities are used that correspond to one of our kinds. Their context words count: the text is split
into words by spaCy's rules, which need no model. Of findings that overlap, the one with the highest score counts.
"""

import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry, predefined_recognizers
from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine

# Without this the list of public suffixes would be fetched from the network.
tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())

IDENTITY_NUMBERS = [
    "AU_TFN", "CA_SIN", "DE_TAX_ID", "ES_NIE", "ES_NIF", "FI_PERSONAL_IDENTITY_CODE", "IN_AADHAAR", "IN_PAN",
    "IT_FISCAL_CODE", "KR_FRN", "KR_RRN", "PL_PESEL", "SE_PERSONNUMMER", "SG_NRIC_FIN", "TH_TNIN", "TR_NATIONAL_ID",
    "UK_NINO", "US_ITIN", "ZA_ID_NUMBER",
]
KINDS = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "US_SSN": "ssn",
    "CREDIT_CARD": "credit_card",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip_address",
    "MAC_ADDRESS": "mac_address",
    "CRYPTO": "crypto_address",
} | {entity: "national_id" for entity in IDENTITY_NUMBERS}


class WordSplitter(NlpEngine):
    """Splits texts into words; everything else that an engine can do is left out."""

    def __init__(self):
        self.nlp = None

    def load(self):
        self.nlp = spacy.blank("en")

    def is_loaded(self):
        return self.nlp is not None

    def get_supported_languages(self):
        return ["en"]

    def get_supported_entities(self):
        return []

    def is_stopword(self, word, language):
        return self.nlp.vocab[word].is_stop

    def is_punct(self, word, language):
        return self.nlp.vocab[word].is_punct

    def process_text(self, text, language):
        words = self.nlp(text)
        return NlpArtifacts(
            entities=[], tokens=words, tokens_indices=[word.idx for word in words],
            lemmas=[word.lower_ for word in words], nlp_engine=self, language=language,
        )

    def process_batch(self, texts, language, **_):
        for text in texts:
            yield text, self.process_text(text, language)


def recognisers():
    for name in predefined_recognizers.__all__:
        recogniser = getattr(predefined_recognizers, name)
        if isinstance(recogniser, type) and issubclass(recogniser, (PatternRecognizer, predefined_recognizers.PhoneRecognizer)):
            made = recogniser(supported_language="en")
            if set(made.supported_entities) & KINDS.keys():
                yield made


def analyzer():
    engine = WordSplitter()
    engine.load()
    registry = RecognizerRegistry(recognizers=list(recognisers()), supported_languages=["en"])
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])


def findings(engine, text, least_score):
    """The values in a text by kind."""
    results = engine.analyze(text, language="en", score_threshold=least_score)
    results.sort(key=lambda result: (-result.score, result.start - result.end))
    kept = []
    for result in results:
        if all(result.end <= other.start or other.end <= result.start for other in kept):
            kept.append(result)
    return frozenset((KINDS[result.entity_type], result.start, result.end) for result in kept if result.entity_type in KINDS)
