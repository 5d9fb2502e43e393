"""Writes the texts that the suite embeds, as JSON strings, one in each line.

Usage: texts.py pairs FILE... | entries COUNT | unanswered COUNT

`pairs` are the texts of files of pairs. `entries` are distinct questions that fill a semantic cache: the crowd among which
a search must find the right entry. `unanswered` are questions that have no entry among them with the same meaning. The
questions come from templates, so that every one has many neighbours which differ in a single word. They are no
substitute for pairs.tsv: nobody asked them.
"""

import itertools
import json
import random
import sys

SLOTS = {
    "country": """Argentina Austria Belgium Bolivia Brazil Bulgaria Cambodia Chile Colombia Croatia Cuba Cyprus Denmark
        Ecuador Egypt Estonia Ethiopia Finland Ghana Greece Hungary Iceland Indonesia Iran Iraq Ireland Israel Italy
        Jamaica Jordan Kenya Kuwait Laos Latvia Lebanon Lithuania Malaysia Malta Morocco Nepal Nigeria Norway Oman
        Pakistan Panama Peru Poland Portugal Qatar Romania Rwanda Serbia Singapore Slovakia Slovenia Spain Sudan Sweden
        Syria Taiwan Tanzania Thailand Tunisia Turkey Uganda Ukraine Uruguay Vietnam Yemen Zambia Zimbabwe""".split(),
    "city": """Amsterdam Athens Auckland Bangkok Barcelona Beirut Belgrade Bogota Brussels Budapest Cairo Chicago
        Copenhagen Dallas Delhi Dresden Dubai Dublin Edinburgh Florence Geneva Hamburg Hanoi Helsinki Istanbul Jakarta
        Kiev Lagos Lima Lisbon Ljubljana Lyon Madrid Manila Marseille Melbourne Miami Milan Montreal Munich Nairobi
        Naples Osaka Oslo Porto Prague Riga Rome Rotterdam Salzburg Santiago Seattle Seoul Seville Shanghai Sofia
        Stockholm Tallinn Toronto Turin Valencia Vancouver Venice Vienna Vilnius Warsaw Zagreb Zurich""".split(),
    "food": """almonds asparagus avocado bacon bananas barley basil beans beef beets blueberries bread broccoli butter
        cabbage carrots cashews cauliflower celery cheese cherries chicken chickpeas chocolate corn couscous cucumbers
        dates duck eggplant eggs figs garlic ginger grapes ham honey kale lamb leeks lemons lentils lettuce mangoes
        mushrooms mussels oats olives onions oranges pasta peaches peanuts pears peas peppers pineapple plums pork
        potatoes prawns pumpkin quinoa radishes raspberries rice salmon sausages shrimp spinach squash strawberries
        tofu tomatoes trout tuna turkey walnuts yogurt zucchini""".split(),
    "language": """Ada Bash C Clojure COBOL Crystal Dart Elixir Elm Erlang Fortran Go Groovy Haskell Java JavaScript
        Julia Kotlin Lisp Lua MATLAB Nim OCaml Pascal Perl PHP Prolog Python R Ruby Rust Scala Scheme Swift TypeScript
        Zig""".split(),
    "thing": """address array browser calendar camera certificate chart cookie cursor database directory document driver
        email extension file filter firewall folder font form function image index keyboard label library licence link
        list log message microphone monitor mouse network notification object package page partition password photo
        playlist plugin printer process profile proxy query queue record router screen script server session shortcut
        spreadsheet string table template theme thread timer token user variable video volume widget window""".split(),
    "verb": """archive back_up block clone close compare compress configure convert copy create decrypt delete disable
        download duplicate edit enable encrypt export filter find forward hide import install lock merge mount move mute
        open parse print rename repair replace reset resize restart restore scan search share sort split start stop sync
        test track uninstall unlock update upload validate verify""".split(),
    "number": [str(n) for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 24, 25, 30, 36, 40, 45, 48, 50, 60, 72, 75,
                                80, 90, 100, 120, 150, 180, 200, 250, 300, 365, 400, 500, 600, 750, 800, 1000)],
    "unit": """acres calories centimeters cups days feet gallons grams hectares hours inches kilograms kilometers knots
        liters meters miles milliliters minutes months ounces pints pounds seconds tablespoons teaspoons tons weeks
        yards years""".split(),
}

TEMPLATES = """What is the population of {country}?|What is the currency of {country}?|What is the national dish of {country}?
Do I need a visa for {country}?|When did {country} become independent?|Who is the president of {country}?
What is the best time to visit {city}?|How many days do I need in {city}?|Where should I stay in {city}?
How do I get from {city} to {city2}?|How far is {city} from {city2}?|Is {city} more expensive than {city2}?
Which is nicer, {city} or {city2}?|Are there direct trains from {city} to {city2}?
How long should I cook {food}?|Can I freeze {food}?|How do I store {food}?|Are {food} healthy?
Can I replace {food} with {food2} in a salad?|What goes well with {food} and {food2}?
How do I {verb} a {thing}?|How do I {verb} a {thing} in {language}?|Why can't I {verb} the {thing}?
What is a {thing} in {language}?|Is {language} faster than {language2}?|How do I call {language} from {language2}?
How many {unit} are {number} {unit2}?|Convert {number} {unit} to {unit2}.|What costs less than {number} dollars in {city}?
Can I drive from {city} to {country} in {number} hours?""".replace("\n", "|").split("|")

# Templates with another question that asks for the same.
SYMMETRIC = ("How far", "nicer", "goes well", "How many {unit}", "Convert")
MOST_ENTRIES = 100_000


def fill(template, draw):
    """One question from a template; the second of two slots of a kind never equals the first."""
    values = {}
    for kind, choices in SLOTS.items():
        first, second = draw.sample(choices, 2)
        values[kind], values[kind + "2"] = first.replace("_", " "), second.replace("_", " ")
    return template.format(**values)


def entries(count):
    draw = random.Random(13)
    seen = set()
    for template in itertools.cycle(TEMPLATES):
        if len(seen) == count:
            return
        question = fill(template, draw)
        if question not in seen:
            seen.add(question)
            yield question


def unanswered(count):
    """Questions of the same templates that are not among the entries, without those that an entry may say in other words:
    relations that hold in both directions, and conversions, which have two templates."""
    known = set(entries(MOST_ENTRIES))
    draw = random.Random(14)
    templates = [template for template in TEMPLATES if template.count("{") > 1 and not any(part in template for part in SYMMETRIC)]
    for template in itertools.cycle(templates):
        if count == 0:
            return
        question = fill(template, draw)
        if question not in known:
            known.add(question)
            count -= 1
            yield question


def texts_of_pairs(paths):
    seen = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in itertools.islice(file, 1, None):
                seen.update(dict.fromkeys(line.rstrip("\n").split("\t")[2:]))
    return seen


def main(what, *arguments):
    if what == "pairs":
        return texts_of_pairs(arguments)
    return {"entries": entries, "unanswered": unanswered}[what](int(arguments[0]))


if __name__ == "__main__":
    for text in main(*sys.argv[1:]):
        print(json.dumps(text))
