//! Edits of a body by byte range, applied as a chain of slices: the body is never copied.

use std::cmp::Reverse;
use std::ops::Range;

use bytes::Bytes;

use crate::json::Object;

/// Edits of one body. Edits inside a removed member are discarded.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    edits: Vec<Edit>,
    objects: Vec<ObjectEdits>,
}

#[derive(Clone, Debug)]
struct Edit {
    range: Range<usize>,
    text: Bytes,
}

/// Edits of one object. They are applied last, because the commas depend on all removals and insertions.
#[derive(Clone, Debug)]
struct ObjectEdits {
    open: usize,
    /// The end of the last member.
    end: usize,
    /// The number of members.
    count: usize,
    /// The positions of the members; filled once one is removed.
    members: Vec<Range<usize>>,
    removed: Vec<usize>,
    inserted: Vec<Bytes>,
}

impl Patch {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn replace(&mut self, range: Range<usize>, text: impl Into<Bytes>) {
        self.edits.push(Edit { range, text: text.into() });
    }

    /// Removes a member and its comma.
    pub fn remove_member(&mut self, object: &Object, index: usize) {
        let edits = self.edits_of(object);
        if index >= edits.count || edits.removed.contains(&index) {
            return;
        }
        if edits.removed.is_empty() {
            edits.members = object.members.iter().map(|member| member.member.clone()).collect();
        }
        edits.removed.push(index);
    }

    /// Appends a member, given as `"key":value`.
    pub fn insert_member(&mut self, object: &Object, member: impl Into<Bytes>) {
        self.edits_of(object).inserted.push(member.into());
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.objects.is_empty()
    }

    /// Applies the edits: slices of the original body and the new pieces, in order.
    pub fn apply(self, body: &Bytes) -> Vec<Bytes> {
        let Self { mut edits, objects } = self;
        for object in objects {
            object.into_edits(&mut edits);
        }
        edits.sort_by_key(|edit| (edit.range.start, !edit.range.is_empty(), Reverse(edit.range.end)));
        let mut rope = Vec::with_capacity(2 * edits.len() + 1);
        let mut at = 0;
        for edit in edits {
            if edit.range.start < at {
                continue;
            }
            if at < edit.range.start {
                rope.push(body.slice(at..edit.range.start));
            }
            if !edit.text.is_empty() {
                rope.push(edit.text);
            }
            at = edit.range.end;
        }
        if at < body.len() {
            rope.push(body.slice(at..));
        }
        rope
    }

    fn edits_of(&mut self, object: &Object) -> &mut ObjectEdits {
        let index = self.objects.iter().position(|edits| edits.open == object.open).unwrap_or_else(|| {
            self.objects.push(ObjectEdits {
                open: object.open,
                end: members_end(object),
                count: object.members.len(),
                members: vec![],
                removed: vec![],
                inserted: vec![],
            });
            self.objects.len() - 1
        });
        &mut self.objects[index]
    }
}

/// Appends members to an object, as the only edit of a body: the same as a patch, with fewer allocations. Each member is
/// given as `,"key":value`.
pub fn append_members(body: &Bytes, object: &Object, members: Vec<u8>) -> Vec<Bytes> {
    let end = members_end(object);
    let first = usize::from(object.members.is_empty());
    vec![body.slice(..end), Bytes::from(members).slice(first..), body.slice(end..)]
}

/// Where a member is appended.
fn members_end(object: &Object) -> usize {
    object.members.last().map_or(object.open + 1, |member| member.member.end)
}

pub fn rope_len(rope: &[Bytes]) -> usize {
    rope.iter().map(Bytes::len).sum()
}

pub fn concat(rope: &[Bytes]) -> Bytes {
    match rope {
        [] => Bytes::new(),
        [single] => single.clone(),
        pieces => pieces.concat().into(),
    }
}

impl ObjectEdits {
    fn into_edits(mut self, edits: &mut Vec<Edit>) {
        self.removed.sort_unstable();
        let mut runs = self.removed.iter().copied().peekable();
        while let Some(first) = runs.next() {
            let mut last = first;
            while runs.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            edits.push(Edit { range: self.span(first, last), text: Bytes::new() });
        }
        if !self.inserted.is_empty() {
            let survivors = self.count > self.removed.len();
            let mut text = Vec::with_capacity(self.inserted.iter().map(|member| member.len() + 1).sum());
            for (index, member) in self.inserted.iter().enumerate() {
                if survivors || index > 0 {
                    text.push(b',');
                }
                text.extend_from_slice(member);
            }
            edits.push(Edit { range: self.end..self.end, text: text.into() });
        }
    }

    /// The range of a run of removed members: includes the comma before it, or else the one after.
    fn span(&self, first: usize, last: usize) -> Range<usize> {
        let members = &self.members;
        match (first.checked_sub(1), members.get(last + 1)) {
            (Some(before), _) => members[before].end..members[last].end,
            (None, Some(after)) => members[first].start..after.start,
            (None, None) => members[first].start..members[last].end,
        }
    }
}

#[cfg(test)]
mod tests;
