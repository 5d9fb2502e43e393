//! Tables of texts that differ in function words and in signs.

use super::super::Veto;
use super::assert_all;

#[test]
fn function_words_agree() {
    assert_all(
        Err(Veto::Word),
        &[
            ("Should I use tabs or spaces?", "Should I use tabs and spaces?"),
            ("How do I look up a word?", "How do I look at a word?"),
            ("How do I give access to a folder?", "How do I get access to a folder?"),
            ("What is Redis used for?", "What is Redis?"),
            ("What is in a burger?", "What is a burger?"),
        ],
    );
    assert_all(Err(Veto::Quantity), &[("Is it hot in Dubai?", "Is it too hot in Dubai?")]);
    assert_all(Err(Veto::Question), &[("What should I eat?", "What can I eat?")]);
    assert_all(
        Err(Veto::Direction),
        &[
            ("Who works for Tesla?", "Who works with Tesla?"),
            ("How do I get to the airport?", "How do I get from the airport?"),
        ],
    );
    assert_all(
        Err(Veto::Person),
        &[
            ("Why did she leave him?", "Why did he leave her?"),
            ("Do you like dogs?", "Do dogs like you?"),
            ("Can people see if I read it?", "Can I see if people read it?"),
        ],
    );
    assert_all(
        Err(Veto::Tense),
        &[
            ("Did I need a jacket?", "Do I need a jacket?"),
            ("What is the price of gold?", "What was the price of gold?"),
            ("Who is the president of France?", "Who will be the president of France?"),
        ],
    );
}

#[test]
fn decorations_and_ranges_pass() {
    assert_all(
        Ok(()),
        &[
            ("How do I cancel my order? 🙏", "How do I cancel my order?"),
            ("How do I reset my password 😊", "How do I reset my password?"),
            ("How do I know if she loves me?", "How do you know if she loves you?"),
            ("How do I center a div in CSS?", "How do I center a div with CSS?"),
            ("How do I sleep 3-5 hours?", "How do I sleep 3 to 5 hours?"),
        ],
    );
}
