//! Valid answers with unusual framing or content type, and floods: drips, pings, a decompression bomb.

use std::time::Duration;

use bytes::Bytes;

use super::super::answer::{Answer, Step};
use super::super::fault_script::{FramingFault, ScriptedContent};
use super::super::reply::Reply;
use super::AnswerBuilder;

const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
const PAUSE: Duration = Duration::from_millis(20);
const BYTE_ORDER_MARK: &str = "\u{feff}";
const BOMB: usize = 256 * 1024 * 1024;
const FILLER_PIECE: usize = 64 * 1024;

impl AnswerBuilder<'_> {
    pub(super) fn framed(&self, framing: FramingFault) -> Answer {
        let text = || self.render(&self.reply(ScriptedContent::Text));
        match framing {
            FramingFault::Drip(pause) => self.drip(pause),
            FramingFault::Bytewise(pause) => bytewise(text(), pause),
            FramingFault::WrongType => Answer { content_type: "text/plain".into(), ..text() },
            FramingFault::Swapped => self.swapped(),
            FramingFault::Crlf => self.reframed(|event| event.replace('\n', "\r\n")),
            FramingFault::Cr => self.reframed(|event| event.replace('\n', "\r")),
            FramingFault::TwoLines => self.reframed(|event| event.replacen('{', "{\ndata: ", 1)),
            FramingFault::Comments => self.reframed(|event| format!(": a comment\n\n{event}:\n\n")),
            FramingFault::ByteOrderMark => {
                let mut answer = text();
                if self.request.streams {
                    answer.steps.insert(0, Step::send(BYTE_ORDER_MARK));
                }
                answer
            }
            FramingFault::Pings => self.ping_forever(": ping\n\n", PAUSE),
            FramingFault::PingEvents => self.ping_forever(PING, PAUSE),
            FramingFault::PingFlood => self.ping_forever(PING.repeat(1024), Duration::ZERO),
            FramingFault::Endless => self.endless_text(),
            FramingFault::HugeEvent(kibibytes) => self.huge_event(kibibytes),
            FramingFault::GzipBomb => self.gzip_bomb(),
        }
    }

    /// A pause before every event.
    fn drip(&self, pause: Duration) -> Answer {
        let mut answer = self.render(&self.reply(ScriptedContent::Long(20)));
        let pause = Step::Wait(pause);
        answer.steps = answer.steps.into_iter().flat_map(|step| [pause.clone(), step]).collect();
        answer
    }

    /// A document instead of a stream, and vice versa.
    fn swapped(&self) -> Answer {
        let reply = self.reply(ScriptedContent::Text);
        if self.request.streams {
            Answer::whole(self.renderer.document(&reply).to_string())
        } else {
            Answer::stream(self.renderer.events(&reply))
        }
    }

    /// Changes the framing of events; documents are unchanged.
    fn reframed(&self, change: impl Fn(&str) -> String) -> Answer {
        let mut answer = self.render(&self.reply(ScriptedContent::Text));
        if self.request.streams {
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
    fn ping_forever(&self, ping: impl Into<Bytes>, pause: Duration) -> Answer {
        let mut answer = self.render(&self.reply(ScriptedContent::Text));
        let bytes = if self.request.streams { ping.into() } else { Bytes::from_static(b" ") };
        let pause = if self.request.streams { pause } else { PAUSE };
        answer.length = None;
        answer.steps = vec![Step::Repeat { bytes, pause, completion: 0 }];
        answer
    }

    /// Repeats the first word of the text forever; a document is unchanged.
    fn endless_text(&self) -> Answer {
        const AT_A_TIME: usize = 64;
        let mut answer = self.render(&self.reply(ScriptedContent::Text));
        let first = answer.first_content();
        if self.request.streams
            && let Some(Step::Send { bytes, .. }) = answer.steps.get(first)
        {
            let bytes = bytes.repeat(AT_A_TIME).into();
            answer.steps.truncate(first);
            answer.steps.push(Step::Repeat { bytes, pause: Duration::ZERO, completion: AT_A_TIME as u64 });
        }
        answer
    }

    fn huge_event(&self, kibibytes: u64) -> Answer {
        const MARK: &str = "HUGE";
        let reply = Reply { content: vec![MARK.into()], ..self.reply(ScriptedContent::Text) };
        let mut answer = self.render(&reply);
        let steps = std::mem::take(&mut answer.steps);
        for step in steps {
            let Step::Send { bytes, completion, reasoning } = step else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, tail)) = text.split_once(MARK) else {
                answer.steps.push(Step::Send { bytes, completion, reasoning });
                continue;
            };
            answer.steps.push(Step::send_billed(head.to_owned(), completion, reasoning));
            answer.steps.extend(filler(kibibytes).map(Step::send));
            answer.steps.push(Step::send(tail.to_owned()));
            answer.length = answer.length.map(|length| length - MARK.len() as u64 + kibibytes * 1024);
        }
        answer
    }

    /// A gzip body of spaces, compressed 158 to one; the stream is truncated before its end.
    fn gzip_bomb(&self) -> Answer {
        let typed = self.render(&self.reply(ScriptedContent::Text)).content_type;
        let packed = spaces(BOMB);
        let headers = vec![("content-encoding".to_owned(), "gzip".to_owned())];
        Answer { content_type: typed, headers, ..Answer::whole(packed) }
    }
}

fn filler(kibibytes: u64) -> impl Iterator<Item = Bytes> {
    let piece = Bytes::from(vec![b'a'; FILLER_PIECE]);
    let whole = (kibibytes as usize * 1024) / FILLER_PIECE;
    let rest = piece.slice(..(kibibytes as usize * 1024) % FILLER_PIECE);
    std::iter::repeat_n(piece, whole).chain((!rest.is_empty()).then_some(rest))
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
            steps.push(Step::send_billed(bytes.slice(index..=index), cost(completion), cost(reasoning)));
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
