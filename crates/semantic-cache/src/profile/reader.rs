//! Reads a text into its profile: grammar, question frames, synonyms, then content words with their roles.

use super::decoration;
use super::modality::Modality;
use super::sentence::Sentence;
use super::{ContentWord, Grammar, Role, TextProfile};
use crate::lexicon::{LEXICON, Phrase, QuestionKind};
use crate::tokens::{Token, TokenClass, join_numbers, normalise, tokenise};

/// A token with its key in phrases.
struct Keyed {
    key: String,
    token: Token,
}

pub fn read(text: &str) -> TextProfile {
    let text = normalise(text);
    let (text, decoration) = decoration::split(&text);
    let tokens = join_numbers(tokenise(text));
    // A single capital may be the pronoun.
    let mut words = tokens.iter().filter(|t| t.class == TokenClass::Word && t.text.len() > 1);
    let is_shouted = words.all(|t| t.is_acronym);
    let keyed = keyed(&tokens, is_shouted);
    let mut profile = TextProfile {
        numbers: Vec::new(),
        has_one: tokens.iter().any(|t| t.class == TokenClass::One),
        symbols: Vec::new(),
        decoration,
        has_range: tokens.windows(3).any(is_range),
        quoted: quoted(text),
        words: Vec::new(),
        negations: 0,
        question: None,
        questions: Vec::new(),
        sentence: Sentence::read(&tokens),
        modality: Modality::read(&tokens),
        grammar: grammar(&tokens),
        compounds: tokens.windows(2).map(|pair| format!("{}{}", pair[0].text, pair[1].text)).collect(),
    };
    let mut reader = Reader { profile: &mut profile, role: None, is_joined: false, is_shouted };
    reader.read(&keyed);
    profile
}

fn is_range(tokens: &[Token]) -> bool {
    let is_number = |token: &Token| token.class == TokenClass::Number;
    is_number(&tokens[0]) && tokens[1].is_word("to") && is_number(&tokens[2])
}

/// Leaves out determiners. "the us" and "US" are the country.
fn keyed(tokens: &[Token], is_shouted: bool) -> Vec<Keyed> {
    let mut all = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let mut token = token.clone();
        let follows_the = at > 0 && tokens[at - 1].is_word("the");
        if token.is_word("us") && (follows_the || (token.is_acronym && !is_shouted)) {
            token.text = "usa".to_owned();
        }
        let is_word = matches!(token.class, TokenClass::Word | TokenClass::One);
        let key = if is_word { LEXICON.key(&token.text) } else { Some(token.text.clone()) };
        if let Some(key) = key {
            all.push(Keyed { key, token });
        }
    }
    all
}

/// Texts between quotation marks or backticks, in their order and as they are written, without the punctuation that a
/// sentence adds at their end.
fn quoted(text: &str) -> Vec<String> {
    let letters: Vec<(usize, char)> = text.char_indices().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    // Marks that nothing closes any more, which are not searched again.
    let mut unclosed = Vec::new();
    while at < letters.len() {
        let (start, mark) = letters[at];
        let begins = mark != '\'' || at == 0 || !letters[at - 1].1.is_alphanumeric();
        let opens = matches!(mark, '"' | '`' | '\'') && begins && !unclosed.contains(&mark);
        let end = opens.then(|| closing(&letters, at)).flatten();
        let Some(end) = end else {
            unclosed.extend(opens.then_some(mark));
            at += 1;
            continue;
        };
        let inside = text[start + mark.len_utf8()..letters[end].0].trim();
        let plain = inside.trim_end_matches(['.', ',', '?', '!', ';', ':']);
        found.extend([plain, inside].into_iter().find(|part| !part.is_empty()).map(str::to_owned));
        at = end + 1;
    }
    found
}

/// The position of the mark that closes the one at `open`. An apostrophe inside a word does not.
fn closing(letters: &[(usize, char)], open: usize) -> Option<usize> {
    let mark = letters[open].1;
    let is_inside =
        |at: usize| mark == '\'' && letters.get(at + 1).is_some_and(|(_, next)| next.is_alphanumeric());
    (open + 1..letters.len()).find(|at| letters[*at].1 == mark && !is_inside(*at))
}

fn grammar(tokens: &[Token]) -> Grammar {
    let mut grammar = Grammar::default();
    let (mut has_participle, mut has_auxiliary) = (false, false);
    for (at, token) in tokens.iter().enumerate().filter(|(_, t)| t.class == TokenClass::Word) {
        let next = tokens.get(at + 1).map_or("", |t| t.text.as_str());
        match token.text.as_str() {
            "i" | "we" => grammar.first_person = true,
            "you" => grammar.second_person = true,
            "my" | "our" | "mine" => grammar.my = true,
            "your" | "yours" => grammar.your = true,
            "he" | "him" | "his" => grammar.male = true,
            "she" | "her" | "hers" => grammar.female = true,
            "am" => grammar.speaker_is = true,
            "are" if next == "you" => grammar.listener_is = true,
            "will" | "shall" => grammar.future = true,
            "going" if next == "to" => grammar.future = true,
            "did" | "had" => grammar.past = true,
            "was" | "were" => (grammar.past, grammar.was) = (true, true),
            "who" | "whom" if matches!(next, "did" | "does" | "do") => grammar.asks_for_object = true,
            word if word.len() > 4 && word.ends_with("ed") => has_participle = true,
            "be" | "been" | "have" | "has" => has_auxiliary = true,
            word if LEXICON.is_irregular_form(word)
                && !LEXICON.is_function_word(word)
                && !word.ends_with('s') =>
            {
                grammar.past = true;
            }
            _ => {}
        }
        match token.text.as_str() {
            "is" | "are" => grammar.is = true,
            "do" | "does" | "did" => grammar.has_do = true,
            "by" => grammar.is_passive = true,
            "you" | "me" | "us" | "him" | "them" if at > 0 => {
                grammar.person_is_object |= !LEXICON.is_function_word(&tokens[at - 1].text);
            }
            _ => {}
        }
    }
    // "Invented" is the past, "will be released" is not.
    grammar.past |= has_participle && !has_auxiliary && !grammar.is && !grammar.was;
    grammar
}

struct Reader<'a> {
    profile: &'a mut TextProfile,
    /// Role of the next content words.
    role: Option<Role>,
    /// "And" or "or" is before the next content word.
    is_joined: bool,
    is_shouted: bool,
}

impl Reader<'_> {
    fn read(&mut self, keyed: &[Keyed]) {
        let keys: Vec<String> = keyed.iter().map(|k| k.key.clone()).collect();
        let mut at = 0;
        let mut at_start = true;
        while at < keyed.len() {
            let token = &keyed[at].token;
            at_start |= token.starts_sentence;
            if let Some((phrase, used)) = self.frame_at(token, &keys[at..], at_start) {
                if let Phrase::Question(kind) = phrase {
                    self.ask(*kind);
                    at_start = false;
                }
                self.role = None;
                at += used;
                continue;
            }
            if at_start {
                self.ask_by_auxiliary(&token.text);
                at_start = token.is_word("and") || token.is_word("so") || token.is_word("but");
            }
            at += self.read_word(keyed, &keys, at);
        }
    }

    /// The question frame or filling that starts here, unless a longer synonym does. "Should I" asks only at the start
    /// of a sentence: "how often should I" asks for a number.
    fn frame_at(&self, token: &Token, keys: &[String], at_start: bool) -> Option<(&'static Phrase, usize)> {
        use QuestionKind::{Can, Must, Should};
        let (phrase, used) = LEXICON.frame_at(keys).filter(|_| !self.is_emphatic(token))?;
        let needs_start = matches!(phrase, Phrase::Question(Can | Must | Should));
        let is_longest = LEXICON.synonym_at(keys).is_none_or(|(_, other)| other <= used);
        (is_longest && (at_start || !needs_start)).then_some((phrase, used))
    }

    /// Records a question of the text.
    fn ask(&mut self, kind: QuestionKind) {
        self.profile.question.get_or_insert(kind);
        if !self.profile.questions.contains(&kind) {
            self.profile.questions.push(kind);
        }
    }

    /// A sentence that starts with an auxiliary asks for yes or no.
    fn ask_by_auxiliary(&mut self, word: &str) {
        match word {
            "can" | "could" | "may" | "might" => self.ask(QuestionKind::Can),
            "should" | "shall" => self.ask(QuestionKind::Should),
            "must" => self.ask(QuestionKind::Must),
            "is" | "are" | "was" | "were" | "am" | "do" | "does" | "did" | "will" | "would" | "has"
            | "have" | "had" => {
                self.ask(QuestionKind::Whether);
            }
            _ => {}
        }
    }

    /// Whether a function word is written as a name: "WHO", "IT" or, inside a sentence, "May" and "Will".
    fn is_emphatic(&self, token: &Token) -> bool {
        let is_month =
            matches!(token.text.as_str(), "may" | "will") && token.is_capitalised && !token.starts_sentence;
        !self.is_shouted && ((token.is_acronym && token.text.len() > 1) || is_month)
    }

    /// Reads the token or the synonym at a position and returns its length in tokens.
    fn read_word(&mut self, keyed: &[Keyed], keys: &[String], at: usize) -> usize {
        let token = &keyed[at].token;
        match token.class {
            TokenClass::Symbol => {
                self.profile.symbols.push(token.text.clone());
                return 1;
            }
            TokenClass::One => return 1,
            _ => {}
        }
        if let Some(concept) = comparison(token, &keys[at..]) {
            self.add(concept.to_owned(), token);
            return 1;
        }
        if let Some((concept, used)) = LEXICON.synonym_at(&keys[at..])
            && (used > 1 || !self.is_plain_function_word(token))
        {
            if token.is_word("how") {
                self.ask(QuestionKind::HowMany);
            }
            self.add(concept.to_owned(), token);
            return used;
        }
        if token.class == TokenClass::Number {
            self.profile.numbers.push(token.text.clone());
            self.add(token.text.clone(), token);
        } else if token.class == TokenClass::Identifier {
            self.add(token.text.clone(), token);
        } else if is_negation(&token.text) {
            self.profile.negations += 1;
            if token.is_word("without") {
                self.role = Some(Role::Without);
            }
        } else if self.is_plain_function_word(token) {
            let joins = matches!(token.text.as_str(), "and" | "or");
            let is_excluded = token.is_word("of") && at > 0 && keyed[at - 1].token.is_word("instead");
            if is_excluded {
                self.role = Some(Role::Without);
            // "Without milk and sugar" is without both.
            } else if !joins || self.role != Some(Role::Without) {
                self.role = role_of(&token.text);
            }
            self.is_joined |= joins;
        } else {
            self.add(keyed[at].key.clone(), token);
            if matches!(token.text.as_str(), "except" | "excluding") {
                self.role = Some(Role::Without);
            }
        }
        1
    }

    fn is_plain_function_word(&self, token: &Token) -> bool {
        token.class == TokenClass::Word && LEXICON.is_function_word(&token.text) && !self.is_emphatic(token)
    }

    fn add(&mut self, concept: String, token: &Token) {
        let is_name = token.class == TokenClass::Identifier
            || (token.is_capitalised && !token.starts_sentence && !self.is_shouted);
        let written = token.text.clone();
        self.profile.words.push(ContentWord {
            concept,
            written,
            is_name,
            is_exact: token.class == TokenClass::Identifier,
            role: self.role,
            is_joined: std::mem::take(&mut self.is_joined),
        });
    }
}

/// The concept of "more" and "less" before "than", where they cannot be left out: "more than 5".
fn comparison(token: &Token, keys: &[String]) -> Option<&'static str> {
    let is_compared = token.class == TokenClass::Word && keys.get(1).is_some_and(|next| next == "than");
    match token.text.as_str() {
        "more" | "greater" if is_compared => Some("more than"),
        "less" | "fewer" | "lower" if is_compared => Some("less than"),
        _ => None,
    }
}

fn is_negation(word: &str) -> bool {
    matches!(
        word,
        "not"
            | "no"
            | "never"
            | "without"
            | "none"
            | "nobody"
            | "nothing"
            | "nowhere"
            | "neither"
            | "nor"
            | "unless"
    )
}

fn role_of(preposition: &str) -> Option<Role> {
    Some(match preposition {
        "to" | "into" | "onto" | "towards" | "toward" => Role::To,
        "from" => Role::From,
        "than" => Role::Than,
        "by" => Role::By,
        "in" | "within" | "per" => Role::In,
        "of" => Role::Of,
        "about" | "on" | "regarding" | "concerning" => Role::About,
        "for" => Role::For,
        "with" => Role::With,
        _ => return None,
    })
}
