//! Tests of the rules of each kind: values that must be found, and texts in which nothing may be.

use std::sync::Arc;

use super::*;
use crate::stream::tests::check_every_split;

/// The values of a kind in a text.
#[track_caller]
fn found(kind: PiiKind, text: &str) -> Vec<&str> {
    let findings = detector(&[kind]).unwrap().find_all(text, "").unwrap();
    findings.into_iter().map(|finding| &text[finding.range]).collect()
}

/// Checks texts in which the value stands between `«` and `»`, or nowhere: as a whole, and as streams.
#[track_caller]
fn check(kind: PiiKind, texts: &[&str]) {
    let detector = Arc::new(detector(&[kind]).unwrap());
    for marked in texts {
        let text = marked.replace(['«', '»'], "");
        let parts = marked.split('«').skip(1).filter_map(|part| part.split('»').next());
        assert_eq!(found(kind, &text), parts.collect::<Vec<_>>(), "{text}");
        check_every_split(&detector, &text).unwrap();
    }
}

#[test]
fn rules_compile_and_every_kind_has_one() {
    detector(&PiiKind::ALL).unwrap();
    let kinds: Vec<PiiKind> = all_rules().iter().map(|rule| rule.kind).collect();
    assert!(PiiKind::ALL.iter().all(|kind| kinds.contains(kind)));
}

#[test]
fn keys_of_many_vendors_and_numbers_of_many_countries_are_known() {
    let (vendors, countries) = (api_key_vendors(), national_id_countries());
    assert!(vendors.len() >= 40, "{} vendors: {vendors:?}", vendors.len());
    assert!(countries.len() >= 10, "{} countries: {countries:?}", countries.len());
    assert!(
        countries.iter().all(|code| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase()))
    );
}

#[test]
fn kinds_that_are_not_asked_for_are_not_found() {
    assert_eq!(found(PiiKind::Ssn, "bob@example.com"), [""; 0]);
}

#[test]
fn email() {
    check(
        PiiKind::Email,
        &[
            "Write to «john.doe+x@mail.example.co.uk», please.",
            "«a@b.io»;«c_d@e-f.example»",
            "请联系«john@example.com»谢谢",
            "<«müller@bücher.de»>",
            "mailto:«x@example.com»?subject=1",
            "«bob@example.com».",
            "«ana@example.com»-",
            "'«ana@example.com»', (\"«ana@example.com»\")",
            "user@localhost and foo@1.2.3 and logo@2x.png",
            "git@github.com:org/repo.git",
            "a..b@ x.@example. @decorator",
            "«jo\u{200B}hn＠example.com»",
        ],
    );
}

#[test]
fn phone() {
    check(
        PiiKind::Phone,
        &[
            "Call «001-555-123-4567x1234» or «(555) 234-5678 ext. 12» today.",
            "office «555.234.5678x9», desk «+1-555-234-5678x02345»",
            "mon 06: «06 12 34 56 78», «01.42.68.53.00»",
            "Büro «(030) 901820», «(07738) 90838».",
            "«0049 30 1234567» or «0033 6 12 34 56 78»",
            r#"{"homePhone": "«07911 123456»", "age": 41}"#,
            "reach me at «5552345678»",
            "001-222 and 0012345678 and 06 12 34",
            "«+49 30 901820», «+1 (212) 555-0123» or «+33612345678»!",
            "Call «(212) 555-0123» or «212.555.0123»",
            "Tel.: «030/901820-15»",
            "mein Handy: «0171 2345678»",
            "Order 2125550123, 123-456-7890, 2024-03-15 and +1",
            "call on 2024-03-15",
            "a+49 30 1 and x+1234567890123456789",
            "Пользователь 10023456, télévision 10023456, iPhone 10023456",
            "00 01 23 45 67 89 ab cd, 01 23 45 67 89 ab, 01 02 03 04 05 and 01.02.03.04.05",
            "au «01 42 68 53 00» de 9h, тел. «10023456»",
        ],
    );
}

#[test]
fn ssn() {
    check(
        PiiKind::Ssn,
        &[
            "SSN «123-45-6789».",
            "social security number: «123456789»",
            "my ssn is «123 45 6789» ok",
            "000-12-3456 666-12-3456 912-34-5678 123-00-4567 123-45-0000",
            "order 123456789, 123 45 6789",
            "INV-123-45-6789 and 123-45-67890 and 1123-45-6789 and 123-45-6789-01",
        ],
    );
}

#[test]
fn credit_card() {
    check(
        PiiKind::CreditCard,
        &[
            "Visa «4111 1111 1111 1111» exp 12/27",
            "«5555-5555-5555-4444», «378282246310005», «6011111111111117»",
            "«4111111111111111» 123",
            "«4111 1111 1111 1111» 123 2027",
            "«4111111111111111»123",
            "卡号«4111111111111111»",
            "4111111111111112 and 41111111111111110 and 0.4111111111111111",
            "1234567890123452, 9111111111111111, 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "411111111111111100000000",
            "EAN 4038020899379, 421116-1280515, card «4222222222222»",
        ],
    );
}

#[test]
fn iban() {
    check(
        PiiKind::Iban,
        &[
            "«DE89 3704 0044 0532 0130 00», «GB82WEST12345698765432» und «FR14 2004 1010 0505 0001 3M02 606».",
            "«nl91abna0417164300»",
            "DE88 3704 0044 0532 0130 00, XX89370400440532013000, DE8937040044053201300",
            "DE89370400440532013000X",
        ],
    );
}

#[test]
fn ip_address() {
    check(
        PiiKind::IpAddress,
        &[
            "nginx version 1.25 client «203.0.113.9» ok",
            "firmware version is 10.0.19041.1",
            "from «203.0.113.7» to «10.0.0.1»:8080.",
            "«2001:db8::ff00:42:8329» and [«fe80::1»]:443, «2001:db8:0:0:0:0:2:1».",
            "127.0.0.1, 0.0.0.0, ::1, 256.1.1.1, 1.2.3, 1.2.3.4.5, 01.2.3.4",
            "version 1.2.3.4 and v1.2.3.4",
            "at 12:30:45, abc::def, std::vec, aa:bb:cc:dd:ee:ff",
            "address:«2001:db8::1», 地址：«2001:db8::1»",
            "12:34:56:78:9a:bc:de:f0:12:34:56:78, x::2001:db8::1",
        ],
    );
}

#[test]
fn mac_address() {
    check(
        PiiKind::MacAddress,
        &[
            "«00:1A:2B:3C:4D:5E» and «00-1a-2b-3c-4d-5e», «001a.2b3c.4d5e»",
            "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff 00:1A:2B:3C:4D 00:1A:2B:3C:4D:5E:6F",
            "00:1A-2B:3C-4D:5E and 20-11-17-12-30-59",
            "AA:00:1A:2B:3C:4D:5E",
        ],
    );
}

#[test]
fn crypto_address() {
    check(
        PiiKind::CryptoAddress,
        &[
            "«1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa» «3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy»",
            "«bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4»; «BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4»",
            "«bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0»",
            "«0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed» «0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed»",
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed",
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5 0x0000000000000000000000000000000000000000",
        ],
    );
}

#[test]
fn national_id_with_a_strong_form() {
    check(
        PiiKind::NationalId,
        &[
            "«111.444.777-35» «2 55 08 14 168 025 38» «255081416802538»",
            "«811218-9876» «19811218-9876» «131052-308T» «85.07.30-033.28»",
            "«756.9217.0769.85» «11010519491231002X» «736028/5163»",
            "«RSSMRA85T10A562S» «X1234567L» «S1234567D» «A123456(3)»",
            "«HEGG560427MVZRRL04» «8001015009087» «12.345.678-5» «8.361.878-7» «900-70-0000»",
            "IMEI 358376225494469, batch 14705694K, 1720828268600, 37605030299",
            "111.444.777-36 811218-9877 131052-308U 756.9217.0769.86 RSSMRA85T10A562T X1234567M",
        ],
    );
}

#[test]
fn national_id_with_a_context_word() {
    check(
        PiiKind::NationalId,
        &[
            "Steuer-ID «86095742719», BSN: «111222333», PESEL «44051401359»",
            "CPF 111.444.777-36; cpf «11144477735»",
            "Aadhaar «9999 4105 7058», NIF «123456789», kimlik no «10000000146»",
            "OIB «94577403194» SIN «130 692 544» TFN «123 456 782» DNI «12345678Z»",
            "isikukood «37605030299», CNP «1720828268600»",
            "my number «123456789018»; NI number «AB123456C», PPSN «1234567T»",
            "86095742719 111222333 44051401359 999941057058 123456782 12345678Z AB123456C",
            "«AB 12 34 56 C»",
        ],
    );
}

#[test]
fn date_of_birth() {
    check(
        PiiKind::DateOfBirth,
        &[
            "DOB: «03-May-1990», dateOfBirth=«19850304»",
            "born 1985, order 20240304",
            r#"{"dob": "«1990-05-03»", "version": "1.4.24"}"#,
            "born on «1984-03-15» in",
            "DOB: «03/15/1984», geboren am «15.03.1984» und",
            "Date of birth: «March 15, 1984»",
            "née le «15 mars 1984»",
            "Fecha de nacimiento: «15 de marzo de 1984»",
            "生年月日：«1984年3月15日»",
            "Meeting on 1984-03-15, born 1984-13-45",
            "due March 15, 2024",
        ],
    );
}

#[test]
fn api_key_with_a_prefix() {
    check(
        PiiKind::ApiKey,
        &[
            "«sk-proj-Ab3dE6gH1jK4mN7pQ0sT2vW5yZ8aC1dF4gH7jK0mN3pQ6sT9»",
            "key «AKIAIOSFODNN7EXAMPLE», «ghp_16C7e42F292c6912E7710c838347Ae178B4a».",
            "«xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx»",
            "export X=«sk_live_4eC39HqLyjWDarjtT1zdp7dc»;",
            "«AIzaSyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v»",
            "sk-learn is a library, sk-proj-your-key-goes-here-please-and-thank-you",
            "task-12345678901234567890123456789012 AKIA1234",
        ],
    );
}

#[test]
fn api_key_by_assignment() {
    check(
        PiiKind::ApiKey,
        &[
            "api_key = \"«9f86d081884c7d659a2feaa0c55ad015»\"",
            "{\"client_secret\": \"«aB3xY7zQ9wE5rT1uI8oP»\"}",
            "Authorization: Bearer «mF9B5f41JqMx7Zc2Qp8Vt3»",
            "the token is «7hG3kL9mN2pQ5rS8tV1wX4yZ»",
            "token_count: 12345678901234567890, token: 1234567890123456",
            "secret = get_secret_from_vault2(name)",
            "password: my-long-password-file-path2.txt",
        ],
    );
}

#[test]
fn private_key() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    check(
        PiiKind::PrivateKey,
        &[
            &format!(
                "a «-----BEGIN PRIVATE KEY-----\n{line}\n{line}\nMzEfYyjiWA4R4==\n-----END PRIVATE KEY-----» b"
            ),
            &format!(
                "«-----BEGIN RSA PRIVATE KEY-----\\n{line}\\n{line}\\n-----END RSA PRIVATE KEY-----»\\n"
            ),
            &format!(
                "«-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{line}» then the text goes on"
            ),
            &format!(
                "«-----BEGIN EC PRIVATE KEY-----\n{line}\nBNtv\n-----END EC PRIVATE KEY-----»\nPlease do not share it."
            ),
            &format!("«-----BEGIN EC PRIVATE KEY-----\n{line}»\nPlease"),
            "«-----BEGIN OPENSSH PRIVATE KEY-----»\nThat is its first line.",
            "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        ],
    );
}

#[test]
fn jwt() {
    let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    check(
        PiiKind::Jwt,
        &[
            &format!("Bearer «{token}»."),
            &format!("«{}»", &token[..70]),
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
            "eyJmb28iOiJiYXIifQ.eyJmb28iOiJiYXIifQ.abc",
        ],
    );
}

#[test]
fn connection_string() {
    check(
        PiiKind::ConnectionString,
        &[
            "«jdbc:sqlserver://db.example.com:1433;databaseName=hr;user=sa;password=Str0ngPw» works",
            "«oracle+cx_oracle://scott:tiger7@db.example.com:1521/orcl»",
            "7,«postgres://ana:s3cret@db.example:5432/app»,0.12",
            "«mongodb://ana:s3cret@a.example:27017,b.example:27017/app», then",
            "dsn=«user=ana;password=s3cret9» status=200 took=4ms",
            "«postgres://admin:s3cret@db.example:5432/app?sslmode=require», then",
            "DATABASE_URL=«mongodb+srv://u:p%40ss@cluster0.example.net/test»",
            "see «https://bob:hunter2@example.com/x» and https://example.com/a@b:c",
            "«Server=tcp:db.example,1433;Database=app;User Id=sa;Password=Pa55w0rd;Encrypt=true»;",
            "«host=localhost port=5432 user=app password=s3cret dbname=x» is used",
            "«host=localhost user=app password=s3cret»; that is all",
            "«DefaultEndpointsProtocol=https;AccountName=x;AccountKey=YWJjZGVmZ2hpamtsbW5vcA==»",
            "postgres://localhost/app redis://cache:6379/0 postgres://user:${PASSWORD}@db/app",
            "host = localhost, port = 5432 and user=bob",
            "«postgres://db/app?options=a,b&password=S3cret»,0.12 and postgres://db/app?options=a,b",
        ],
    );
}

#[test]
fn leads_are_context() {
    let detector = detector(&[PiiKind::NationalId]).unwrap();
    assert_eq!(detector.find_all("111222333", "bsn").unwrap().len(), 1);
    assert_eq!(detector.find_all("111222333", "order").unwrap().len(), 0);
}

#[test]
fn placeholders_are_not_found_again() {
    let detector = detector(&PiiKind::ALL).unwrap();
    let names =
        PiiKind::ALL.map(|kind| format!("api_key=[{0}] token: \"[{0}_k7f3q]\"", kind.placeholder_name()));
    assert_eq!(detector.find_all(&names.join(" "), "").unwrap(), []);
}
