//! Sentences in several languages with a value inside.

use guardrails::kind::PiiKind;

use super::Sample;
use super::random::Random;
use super::values::{Value, value};

/// Sentences for values of any kind. `{}` is the place of the words that the value needs and of the value.
const GENERAL: &[&str] = &[
    "Please update my record: {}, thanks.",
    "Hi, this is Anna. {} is what you asked for.",
    "The customer sent {} yesterday and waits for an answer.",
    "Use {} from now on.",
    "- {}\n- second point\n",
    "{}",
    "Note ({}) was added by the support team.",
    "I wrote \"{}\" on the form, is that right?",
    "Bitte tragen Sie {} in das Formular ein.",
    "Meine Angaben: {}; vielen Dank für Ihre Mühe.",
    "Voici mes données : {}, merci d'avance.",
    "Mis datos son {}, gracias.",
    "Ecco i dati richiesti: {} (urgente).",
    "Segue a informação: {}, obrigado.",
    "Hierbij mijn gegevens: {}.",
    "以下の情報を登録してください：{}。",
    "我的信息是{}，谢谢。",
    "{\"note\": \"{}\", \"done\": true}",
    "| name | Anna |\n| value | {} |\n",
    "2024-05-01 10:22:03 INFO request from client: {} accepted",
];

/// Sentences for values that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "Here is my key:\n{}\nPlease do not share it.",
    "```\n{}\n```",
    "Der Schlüssel lautet:\n\n{}\n\nDanke.",
    "cat id_rsa\n{}\n$ exit",
];

pub fn sentence(kind: PiiKind, random: &mut Random) -> Sample {
    let Value { text: value, words } = value(kind, random);
    let words = if words.is_empty() { "" } else { words[random.below(words.len())] };
    let templates = if kind == PiiKind::PrivateKey { BLOCKS } else { GENERAL };
    let template = random.pick(templates);
    let (before, after) = template.split_at(template.rfind("{}").unwrap());
    let start = before.len() + words.len();
    let text = format!("{before}{words}{value}{}", &after[2..]);
    Sample { text, values: vec![(kind, start..start + value.len())] }
}
