//! The random choices of a case: the same number always gives the same ones.

use domain::ids::Entropy as _;
use testkit::SeededEntropy;

pub struct Luck(SeededEntropy);

impl Luck {
    pub fn new(case: u64) -> Self {
        Self(SeededEntropy::new(case.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0x5DEE_CE66))
    }

    fn draw(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// A number in this range, both ends included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.draw() % (most - least + 1)
    }

    /// True with this chance in percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.draw() % 100 < chance
    }

    pub fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[(self.draw() % of.len() as u64) as usize]
    }

    pub fn name(&mut self, of: &[String]) -> String {
        of[(self.draw() % of.len() as u64) as usize].clone()
    }

    /// Some of the elements, in their order, each with this chance.
    pub fn some<T: Clone>(&mut self, of: &[T], chance: u64) -> Vec<T> {
        of.iter().filter(|_| self.percent(chance)).cloned().collect()
    }

    /// At least so many different elements, in any order.
    pub fn mixed(&mut self, of: &[String], least: usize) -> Vec<String> {
        let mut left = of.to_vec();
        left.sort();
        left.dedup();
        let most = left.len().min(4);
        let count = self.between(least.min(most) as u64, most as u64);
        (0..count).map(|_| left.remove((self.draw() % left.len() as u64) as usize)).collect()
    }
}
