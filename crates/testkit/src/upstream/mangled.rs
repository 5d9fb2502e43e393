//! Valid answers with unusual framing or content type, and floods: drips, pings, a decompression bomb.

use std::time::Duration;

use bytes::Bytes;

use super::behaviour::Play;
use super::script::{Answer, Step};

const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
const PAUSE: Duration = Duration::from_millis(20);
const BYTE_ORDER_MARK: &str = "\u{feff}";
const BOMB: usize = 256 * 1024 * 1024;

impl Play<'_> {
    pub fn mangled(&self, behaviour: &str) -> Option<Answer> {
        let text = || self.render(&self.reply("text"));
        let answer = match behaviour {
            "wrong-type" => Answer { content_type: "text/plain".into(), ..text() },
            "swapped" => self.swapped(),
            "sse-crlf" => self.reframed(|event| event.replace('\n', "\r\n")),
            "sse-cr" => self.reframed(|event| event.replace('\n', "\r")),
            "sse-lines" => self.reframed(|event| event.replacen('{', "{\ndata: ", 1)),
            "sse-comments" => self.reframed(|event| format!(": a comment\n\n{event}:\n\n")),
            "sse-bom" if self.asked.streams => {
                let mut answer = text();
                answer.steps.insert(0, Step::send(BYTE_ORDER_MARK));
                answer
            }
            "sse-bom" => text(),
            "pings" => self.endless(": ping\n\n", PAUSE),
            "ping-events" => self.endless(PING, PAUSE),
            "ping-flood" => self.endless(PING.repeat(1024), Duration::ZERO),
            "endless" => self.talking(),
            "bytewise" => bytewise(text(), Duration::ZERO),
            "gzip-bomb" => self.bomb(),
            _ => {
                let millis = behaviour.strip_prefix("bytewise-")?.parse().ok()?;
                bytewise(text(), Duration::from_millis(millis))
            }
        };
        Some(answer)
    }

    /// A document instead of a stream, and vice versa.
    fn swapped(&self) -> Answer {
        let reply = self.reply("text");
        if self.asked.streams {
            Answer::whole(self.voice.document(&reply).to_string())
        } else {
            Answer::stream(self.voice.events(&reply))
        }
    }

    /// Changes the framing of events; documents are unchanged.
    fn reframed(&self, change: impl Fn(&str) -> String) -> Answer {
        let mut answer = self.render(&self.reply("text"));
        if self.asked.streams {
            for step in &mut answer.steps {
                if let Step::Send { bytes, .. } = step {
                    let event = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
                    *bytes = change(&event).into();
                }
            }
        }
        answer
    }

    /// Repeats the ping forever; a document gets spaces instead.
    fn endless(&self, ping: impl Into<Bytes>, pause: Duration) -> Answer {
        let mut answer = self.render(&self.reply("text"));
        let bytes = if self.asked.streams { ping.into() } else { Bytes::from_static(b" ") };
        let pause = if self.asked.streams { pause } else { PAUSE };
        answer.length = None;
        answer.steps = vec![Step::Repeat { bytes, pause, completion: 0 }];
        answer
    }

    /// Repeats the first word of the text forever; a document is unchanged.
    fn talking(&self) -> Answer {
        const AT_A_TIME: usize = 64;
        let mut answer = self.render(&self.reply("text"));
        let costs = |step: &Step| matches!(step, Step::Send { completion: 1.., .. });
        if let Some(first) = answer.steps.iter().position(costs).filter(|_| self.asked.streams)
            && let Step::Send { bytes, .. } = &answer.steps[first]
        {
            let bytes = bytes.repeat(AT_A_TIME).into();
            answer.steps.truncate(first);
            answer.steps.push(Step::Repeat { bytes, pause: Duration::ZERO, completion: AT_A_TIME as u64 });
        }
        answer
    }

    /// A gzip body of spaces, compressed 158 to one; the stream is truncated before its end.
    fn bomb(&self) -> Answer {
        let typed = self.render(&self.reply("text")).content_type;
        let packed = spaces(BOMB);
        let headers = vec![("content-encoding".to_owned(), "gzip".to_owned())];
        Answer { content_type: typed, headers, ..Answer::whole(packed) }
    }
}

/// Sends every byte in a write of its own; an event is billed with its last byte.
fn bytewise(mut answer: Answer, pause: Duration) -> Answer {
    let mut steps = Vec::new();
    for step in std::mem::take(&mut answer.steps) {
        let Step::Send { bytes, completion, reasoning } = step else {
            steps.push(step);
            continue;
        };
        for index in 0..bytes.len() {
            if !pause.is_zero() {
                steps.push(Step::Wait(pause));
            }
            let last = index + 1 == bytes.len();
            let cost = |tokens: u64| if last { tokens } else { 0 };
            steps.push(Step::costing(bytes.slice(index..=index), cost(completion), cost(reasoning)));
        }
    }
    answer.steps = steps;
    answer
}

/// A gzip stream of this many spaces: one literal, then only the longest back-reference, in the fixed Huffman code.
fn spaces(count: usize) -> Vec<u8> {
    const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    const LONGEST: usize = 258;
    // A non-final block in the fixed code, and a space.
    let mut bits: Vec<bool> = [false, true, false].to_vec();
    bits.extend(code(0b0101_0000, 8));
    // Eight back-references of thirteen bits are whole bytes: from the third byte on the stream repeats every thirteen.
    for _ in 0..16 {
        bits.extend(code(0b1100_0101, 8));
        bits.extend(code(0, 5));
    }
    let bytes: Vec<u8> = bits.chunks_exact(8).map(byte).collect();
    let mut packed = [&HEAD[..], &bytes[..2]].concat();
    packed.extend(bytes[2..15].repeat(count / LONGEST / 8));
    packed
}

/// The bits of a code, most significant first.
fn code(value: u32, length: u32) -> impl Iterator<Item = bool> {
    (0..length).rev().map(move |bit| value >> bit & 1 == 1)
}

fn byte(bits: &[bool]) -> u8 {
    bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))
}
