//! The commands that the gateway sends, each within the time limit.

use std::time::Duration;

use redis::cmd;

use crate::connection::Redis;
use crate::error::Unavailable;

/// A Lua script. The server knows it by its hash after the first use.
pub struct Script(redis::Script);

impl Script {
    pub fn new(code: &str) -> Self {
        Self(redis::Script::new(code))
    }
}

/// An argument of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    Text(Box<str>),
    Integer(i64),
}

impl From<i64> for Argument {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl Redis {
    /// Runs a script that returns integers.
    pub async fn run(
        &self,
        script: &Script,
        keys: &[String],
        arguments: &[Argument],
    ) -> Result<Vec<i64>, Unavailable> {
        let mut invocation = script.0.prepare_invoke();
        for key in keys {
            invocation.key(key);
        }
        for argument in arguments {
            match argument {
                Argument::Text(text) => invocation.arg(&**text),
                Argument::Integer(number) => invocation.arg(*number),
            };
        }
        self.limited(async |mut connection| invocation.invoke_async(&mut connection).await).await
    }

    /// Fields of a hash, and the time until it expires. Fields that it does not have are `None`.
    pub async fn fields_with_lifetime(
        &self,
        key: &str,
        names: &[&str],
    ) -> Result<(Vec<Option<Vec<u8>>>, Duration), Unavailable> {
        let mut pipeline = redis::pipe();
        pipeline.cmd("HMGET").arg(key).arg(names).cmd("PTTL").arg(key);
        let (fields, millis): (Vec<Option<Vec<u8>>>, i64) =
            self.limited(async |mut connection| pipeline.query_async(&mut connection).await).await?;
        Ok((fields, Duration::from_millis(u64::try_from(millis).unwrap_or(0))))
    }

    /// One field of each of several hashes.
    pub async fn field_of_each(
        &self,
        keys: &[String],
        name: &str,
    ) -> Result<Vec<Option<Vec<u8>>>, Unavailable> {
        let mut pipeline = redis::pipe();
        for key in keys {
            pipeline.cmd("HGET").arg(key).arg(name);
        }
        self.limited(async |mut connection| pipeline.query_async(&mut connection).await).await
    }

    /// Writes a hash that expires, unless the integer at `guard` differs from `expected`. Returns whether it was written.
    pub async fn put_guarded(
        &self,
        key: &str,
        fields: &[(&str, &[u8])],
        lifetime: Duration,
        guard: (&str, u64),
    ) -> Result<bool, Unavailable> {
        const PUT: &str = "if (redis.call('GET', KEYS[2]) or '0') ~= ARGV[1] then return 0 end \
            redis.call('DEL', KEYS[1]) \
            for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end \
            redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1";
        let mut command = cmd("EVAL");
        let millis = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX).max(1);
        command.arg(PUT).arg(2).arg(key).arg(guard.0).arg(guard.1.to_string()).arg(millis);
        for (name, value) in fields {
            command.arg(*name).arg(*value);
        }
        self.limited(async |mut connection| command.query_async(&mut connection).await).await
    }

    /// Adds one to an integer and stores `value` under the new number in a sorted set with at most `kept` members.
    pub async fn append_numbered(
        &self,
        counter: &str,
        list: &str,
        value: &str,
        kept: u32,
    ) -> Result<u64, Unavailable> {
        const APPEND: &str = "local number = redis.call('INCR', KEYS[1]) \
            redis.call('ZADD', KEYS[2], number, number .. ' ' .. ARGV[1]) \
            redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - ARGV[2]) return number";
        let mut command = cmd("EVAL");
        command.arg(APPEND).arg(2).arg(counter).arg(list).arg(value).arg(kept);
        self.limited(async |mut connection| command.query_async(&mut connection).await).await
    }

    /// The integer at a key, 0 if there is none, and the values that were stored under numbers above `after`, in their
    /// order.
    pub async fn numbered_after(
        &self,
        counter: &str,
        list: &str,
        after: u64,
    ) -> Result<(u64, Vec<(u64, String)>), Unavailable> {
        let mut pipeline = redis::pipe();
        pipeline.atomic().cmd("GET").arg(counter);
        pipeline.cmd("ZRANGE").arg(list).arg(format!("({after}")).arg("+inf").arg("BYSCORE");
        let (number, values): (Option<u64>, Vec<String>) =
            self.limited(async |mut connection| pipeline.query_async(&mut connection).await).await?;
        let numbered = |value: String| {
            let (number, rest) = value.split_once(' ')?;
            Some((number.parse().ok()?, rest.to_owned()))
        };
        Ok((number.unwrap_or(0), values.into_iter().filter_map(numbered).collect()))
    }

    /// A page of the keys that begin with a prefix, and the cursor of the next page, which is 0 after the last.
    pub async fn scan(&self, prefix: &str, cursor: u64) -> Result<(u64, Vec<String>), Unavailable> {
        let mut command = cmd("SCAN");
        command.arg(cursor).arg("MATCH").arg(format!("{prefix}*")).arg("COUNT").arg(500);
        self.limited(async |mut connection| command.query_async(&mut connection).await).await
    }

    /// Deletes keys; returns how many there were.
    pub async fn delete(&self, keys: &[String]) -> Result<u64, Unavailable> {
        if keys.is_empty() {
            return Ok(0);
        }
        let mut command = cmd("UNLINK");
        command.arg(keys);
        self.limited(async |mut connection| command.query_async(&mut connection).await).await
    }
}
