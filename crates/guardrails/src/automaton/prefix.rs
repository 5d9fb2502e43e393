//! The automaton of all prefixes of a set of patterns, read backwards.
//!
//! A text ends in a part that may still become a match if and only if one of its suffixes is a prefix of a match. Read
//! from the end of the text, every state of the forward NFA is a possible start, and its start state is the only end.

use regex_automata::nfa::thompson::{BuildError, Builder, DenseTransitions, NFA, State, Transition};
use regex_automata::util::primitives::StateID;

/// Reverses an NFA without look-around so that it matches, from the end of a text, every prefix of its patterns.
///
/// A whole match that cannot become longer counts as a prefix only if `is_conditional` says so about its pattern:
/// whether it is a match depends on the next character.
pub fn reverse_prefixes(
    forward: &NFA,
    size_limit: usize,
    is_conditional: impl Fn(usize) -> bool,
) -> Result<NFA, Box<BuildError>> {
    build(forward, size_limit, is_conditional).map_err(Box::new)
}

#[expect(clippy::result_large_err, reason = "the error of the builder, boxed by the caller")]
fn build(
    forward: &NFA,
    size_limit: usize,
    is_conditional: impl Fn(usize) -> bool,
) -> Result<NFA, BuildError> {
    let mut builder = Builder::new();
    builder.set_reverse(true);
    builder.set_size_limit(Some(size_limit))?;
    builder.start_pattern()?;
    let reachable = reachable_states(forward);
    // The reverse of a state is the union of the transitions that lead to it.
    let reversed: Vec<StateID> =
        forward.states().iter().map(|_| builder.add_union(Vec::new())).collect::<Result<_, _>>()?;
    let mut ends = Vec::new();
    for (index, state) in forward.states().iter().enumerate().filter(|(index, _)| reachable[*index]) {
        let source = reversed[index];
        let (steps, jumps) = transitions(state);
        for step in &steps {
            let step_back =
                builder.add_range(Transition { start: step.start, end: step.end, next: source })?;
            builder.patch(reversed[step.next.as_usize()], step_back)?;
        }
        for target in jumps {
            builder.patch(reversed[target.as_usize()], source)?;
        }
        let is_end = match state {
            State::Match { pattern_id } => is_conditional(pattern_id.as_usize()),
            _ => !steps.is_empty(),
        };
        if is_end {
            ends.push(source);
        }
    }
    let matched = builder.add_match()?;
    builder.patch(reversed[forward.start_anchored().as_usize()], matched)?;
    let start = builder.add_union(ends)?;
    builder.finish_pattern(start)?;
    builder.build(start, start)
}

fn reachable_states(nfa: &NFA) -> Vec<bool> {
    let mut reachable = vec![false; nfa.states().len()];
    let mut open = vec![nfa.start_anchored()];
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut reachable[id.as_usize()], true) {
            let (steps, jumps) = transitions(nfa.state(id));
            open.extend(steps.iter().map(|step| step.next));
            open.extend(jumps);
        }
    }
    reachable
}

/// The transitions of a state over bytes, and those over nothing.
pub fn transitions(state: &State) -> (Vec<Transition>, Vec<StateID>) {
    match state {
        State::ByteRange { trans } => (vec![*trans], Vec::new()),
        State::Sparse(sparse) => (sparse.transitions.to_vec(), Vec::new()),
        State::Dense(dense) => (dense_transitions(dense), Vec::new()),
        State::Look { next, .. } | State::Capture { next, .. } => (Vec::new(), vec![*next]),
        State::Union { alternates } => (Vec::new(), alternates.to_vec()),
        State::BinaryUnion { alt1, alt2 } => (Vec::new(), vec![*alt1, *alt2]),
        State::Fail | State::Match { .. } => (Vec::new(), Vec::new()),
    }
}

fn dense_transitions(dense: &DenseTransitions) -> Vec<Transition> {
    let step = |byte: u8| dense.matches_byte(byte).map(|next| Transition { start: byte, end: byte, next });
    (0..=u8::MAX).filter_map(step).collect()
}
