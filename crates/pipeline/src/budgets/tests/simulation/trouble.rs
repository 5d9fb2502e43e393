//! Events of the simulation besides calls: kills, pauses, outages, and changes of rules and prices.

use domain::money::Nanos;

use super::{Event, MILLI, REPLICAS, Running, SECOND, Trouble, Waiting, World};
use crate::budgets::tests::lease_tables::Entry;

impl World {
    pub(super) fn trouble(&mut self) {
        let pause = self.dice.within(100 * MILLI, 900 * MILLI);
        self.push(pause, Event::Trouble);
        let Trouble { kills, pauses, outages, resets, prices, lowered, .. } = self.trouble;
        let replica = self.dice.within(0, REPLICAS as u64) as usize;
        match self.dice.within(0, 6) {
            0 if kills => self.kill(replica),
            1 if pauses && self.replicas[replica].is_alive && !self.replicas[replica].is_paused => {
                self.replicas[replica].is_paused = true;
                let life = self.replicas[replica].life;
                let length = self.dice.within(10 * MILLI, 2 * SECOND);
                self.push(length, Event::Resume { replica, life });
            }
            2 if outages && !self.is_down => {
                self.is_down = true;
                let length = self.dice.within(10 * MILLI, 2 * SECOND);
                self.push(length, Event::Repaired);
            }
            3 if resets && self.dice.one_in(4) => {
                self.budgets[0].last_reset_at = Some(self.wall());
                self.change_rules();
            }
            4 if prices => self.reprice(),
            5 if lowered && self.dice.one_in(3) => {
                let amount = self.dice.within(3_000, 12_000) as i64;
                self.allow_present(1, amount);
                self.budgets[1].amount = Nanos(amount);
                self.change_rules();
            }
            _ => {}
        }
    }

    /// Replicas hear of new rules within half a second.
    pub(super) fn change_rules(&mut self) {
        self.version += 1;
        self.sums.clear();
        for replica in 0..REPLICAS {
            for waiting in 0..self.replicas[replica].waiting.len() {
                let Waiting { path, at, .. } = &self.replicas[replica].waiting[waiting];
                let windows = self.windows(path, *at);
                self.replicas[replica].waiting[waiting].windows = windows;
            }
        }
        for replica in 0..REPLICAS {
            let (life, delay) = (self.replicas[replica].life, self.dice.within(MILLI, 500 * MILLI));
            self.push(delay, Event::Rules { replica, life });
        }
    }

    /// Changes the price of a receipt in the ledger.
    pub(super) fn reprice(&mut self) {
        let Some(last) = self.tables.ledger.len().checked_sub(1) else { return };
        let place = self.dice.within(last.saturating_sub(50) as u64, last as u64 + 1) as usize;
        let change = self.dice.within(0, 200) as i64 - 100;
        let entry = &mut self.tables.ledger[place];
        let before = entry.cost;
        entry.cost = (before + change).max(0);
        let (path, at, change) = (entry.path.clone(), entry.at, entry.cost - before);
        self.count(&path, at, change);
        self.are_bases_due = true;
        if change > 0 {
            self.allow(&path, at, change);
        }
    }

    /// Ends a replica at once: its calls are booked at an estimate when another one drains its journal.
    pub(super) fn kill(&mut self, replica: usize) {
        let of = &mut self.replicas[replica];
        if !of.is_alive {
            return;
        }
        of.is_alive = false;
        self.totals.kills += 1;
        let mut entries = std::mem::take(&mut of.unbooked);
        let (journal, running) = (of.journal.clone(), std::mem::take(&mut of.running));
        for (number, Running { at, path, worst }) in running {
            entries.push(Entry { id: format!("{journal}-{number}"), at, path: path.to_owned(), cost: worst });
        }
        of.waiting.clear();
        let left = self.tables.own(&journal).iter().map(|own| own.left.0).max().unwrap_or_default();
        self.totals.stranded = self.totals.stranded.max(left);
        self.dead.push((journal, entries));
        let delay = self.dice.within(100 * MILLI, 3 * SECOND);
        self.push(delay, Event::Start(replica));
    }

    /// Starts another process in place of a killed one: it drains the journals that it finds.
    pub(super) fn start(&mut self, replica: usize) {
        if self.is_down {
            self.push(100 * MILLI, Event::Start(replica));
            return;
        }
        self.drain_dead();
        self.replicas[replica] = self.fresh(replica);
        self.are_bases_due = true;
        self.begin(replica);
    }

    pub(super) fn drain_dead(&mut self) {
        for (journal, entries) in std::mem::take(&mut self.dead) {
            self.tables.book(&journal, entries);
            self.tables.close(&journal);
        }
    }

    pub(super) fn resume(&mut self, replica: usize, life: u64) {
        let of = &mut self.replicas[replica];
        if of.life != life || !of.is_alive {
            return;
        }
        of.is_paused = false;
        for event in std::mem::take(&mut of.held_back) {
            self.push(1, event);
        }
    }
}
