//! The declaration of a receipt's fields. The receipt, its journal record, the columns of the ledger, the audit entry
//! and the views of both logs derive from it.

/// Calls the macro `$consumer` with a selection of a receipt's fields: `receipt_fields!(detail => write)`.
///
/// A field is declared with one line of documentation, its type, its number, and where it is recorded and shown. The
/// number identifies the field in journal records. It is permanent: it never changes, and the number of a field that is
/// removed is not used again. A new field gets the next one; a test has the list.
///
/// - `[opening]`: known before the call is sent to a provider, and part of the opening record.
/// - `[column NotNull name max 200]`: in the columns section of the journal record, and in this column of the table
///   `usage`; text is clipped to this many bytes, because PostgreSQL index entries have at most 2704 bytes and one index
///   has most labels. In a `Nullable` column, NULL stands for missing and for empty text.
/// - `[label NotNull name max 200]`: the same, but in the label section, because many receipts have the same value.
/// - `[detail]`: in the detail section of the journal record, which is JSON and stored unchanged in the ledger.
/// - `[audit]`: in the JSON document of an audit row. Fields that have a column in the table `audit` are listed in
///   `store::audit::row` instead: their order is part of the hash chain.
/// - `[log]`: shown in the usage log; attributes for the view may follow the word.
/// - `[entry]`: shown in the entries of the audit log.
///
/// The record of a field without `column`, `label` and `detail` is not its value alone, or depends on other fields:
/// `store::journal_record` encodes and decodes it. A new column needs a migration; a test compares the two.
///
/// The selections are `all`, `number` and one for each clause. `number` passes `name = 1,`, `opening`
/// `name: Type = 1,`, `column` and `label` pass `name: Type = 1 => NotNull column [max],`, the others `name: Type,`;
/// `all`, `opening`, `log` and `entry` with attributes.
#[macro_export]
macro_rules! receipt_fields {
    ($selection:ident => $consumer:ident) => {
        $crate::select_receipt_fields! {
            $selection $consumer

            /// A UUIDv7 as text.
            id: String = 1 [opening] [column NotNull id max 200] [log] [entry];
            /// The id of the request (`X-Request-Id`).
            request_id: String = 2 [opening] [column NotNull request_id] [log] [entry];
            /// The arrival of the call.
            at: $crate::clock::Timestamp = 3 [opening] [column NotNull at];
            /// The HTTP method.
            method: String = 4 [entry];
            /// The route, e.g. `/v1/chat/completions`.
            endpoint: String = 5 [opening] [label NotNull endpoint] [log];
            /// The model that the caller requested.
            requested_model: String = 6 [opening] [label NotNull requested_model max 300] [log] [entry];
            /// The model that served the call, as its provider names it; empty when none did.
            model: String = 7 [opening] [label NotNull model max 300] [log];
            /// The provider type.
            provider: String = 8 [opening] [label NotNull provider max 200] [log];
            /// The provider instance.
            provider_name: String = 9 [opening] [label NotNull provider_name max 200] [log];
            /// The provider's id of the response.
            provider_id: String = 10 [column NotNull provider_id] [audit] [log];
            /// The user path that the call is assigned to.
            user_path: String = 11 [opening] [label NotNull user_path max 500] [log] [entry];
            /// The key, the user or the token's subject that made the call; none for the master key.
            auth_key_id: Option<String> = 12 [opening] [label NotNull auth_key_id max 200] [log] [entry];
            /// The tenant of the caller.
            tenant_id: Option<String> = 13 [opening] [label Nullable tenant_id max 200] [log] [entry];
            /// The session that the client named.
            session_id: Option<String> = 14 [detail] [log] [entry];
            /// The agent run that the call belongs to (`X-Run-Id`).
            run_id: Option<String> = 15 [opening] [column Nullable run max 200]
                [log #[serde(skip_serializing_if = "Option::is_none")]];
            /// `master_key`, `api_key`, `session` or `token`; empty when the caller was not authenticated.
            auth_method: String = 16;
            /// The address of the client.
            client_ip: String = 17 [detail] [audit] [entry];
            /// The `User-Agent` of the client.
            user_agent: String = 18 [detail] [audit];
            /// `exact`, `semantic` or empty.
            cache_type: String = 19 [label NotNull cache_type max 200] [log] [entry];
            /// True if the response was streamed.
            stream: bool = 20 [opening] [column NotNull stream] [log] [entry];
            /// The status sent to the client; 499 when it disconnected.
            status: u16 = 21 [column NotNull status];
            /// The type of the error sent to the client.
            error_type: Option<String> = 22 [detail] [entry];
            /// The code of the error sent to the client.
            error_code: Option<String> = 23 [detail] [entry];
            /// The message of the error sent to the client.
            error_message: Option<String> = 24 [detail];
            /// Time from the arrival to the end of the response.
            duration_us: u64 = 25 [column NotNull duration_us];
            /// Time from the arrival to the first byte sent to the client.
            first_byte_us: Option<u64> = 26 [column Nullable first_byte_us];
            /// The gateway's own share of the time to the first byte.
            overhead_us: u64 = 27 [detail] [entry];
            /// The attempts at targets, in order.
            attempts: Vec<$crate::receipt::Attempt> = 28;
            /// Number of times an interrupted stream was resumed, on another target or on the same one.
            resumed: u32 = 29 [detail];
            /// The tokens of the call.
            usage: $crate::usage::Usage = 30;
            /// The cost of the call; none when its model has no price.
            cost: Option<$crate::money::Cost> = 31;
            /// The origin of the cost.
            cost_source: $crate::receipt::CostSource = 32 [column NotNull cost_source] [audit];
            /// The provider's usage object, unchanged.
            raw_usage: Option<Box<serde_json::value::RawValue>> = 33 [detail];
            /// True if the gateway stopped before the call ended; the call is charged with its reservation.
            interrupted: bool = 34 [detail] [audit] [log] [entry];
            /// The version of the price used for the cost, unless it is the catalogue price.
            pricing_version: Option<String> = 35 [detail] [log];
            /// True if the requested name was an alias.
            alias_used: bool = 36 [detail] [audit] [entry];
            /// The response id sent to the client.
            response_id: Option<String> = 37 [detail] [entry];
            /// The id of the response that this one continues.
            previous_response_id: Option<String> = 38 [detail] [entry];
            /// True if usage is not recorded: the receipt is for the audit log only.
            unbooked: bool = 39;
            /// The trace context, present when the caller sent one or traces are exported.
            trace: Option<$crate::receipt::TraceContext> = 40 [detail];
            /// The version of the workflow that applied to the call; none for the managed default.
            workflow_version_id: Option<String> = 41 [opening] [detail] [audit] [entry];
            /// The cost that an answer from the cache saved; none for other answers, and when its model has no price.
            saved_cost: Option<$crate::money::Nanos> = 42 [column Nullable saved_cost] [audit];
            /// True if the cache was searched for an answer and had none.
            cache_miss: bool = 43 [column NotNull cache_miss] [log];
            /// The cost that the provider's prompt cache saved; none if it was not used, or if its model has no price.
            prompt_cache_savings: Option<$crate::money::Nanos> = 44 [column Nullable prompt_cache_savings];
            /// The subject of the token that the caller sent.
            subject: Option<String> = 45 [detail] [audit]
                [log #[serde(skip_serializing_if = "Option::is_none")]]
                [entry #[serde(skip_serializing_if = "Option::is_none")]];
        }
    };
}

/// Splits the declaration into the selections. A clause without tokens of its own still selects its field, because the
/// repetition of these (no) tokens is part of the repetition that the clause controls.
#[doc(hidden)]
#[macro_export]
macro_rules! select_receipt_fields {
    (
        $selection:ident $consumer:ident
        $(
            #[doc = $doc:literal]
            $name:ident: $type:ty = $number:literal
            $([opening $($opening:tt)*])?
            $([column $null:ident $column:ident $(max $most:literal)?])?
            $([label $label_null:ident $label_column:ident $(max $label_most:literal)?])?
            $([detail $($detail:tt)*])?
            $([audit $($audit:tt)*])?
            $([log $($log:tt)*])?
            $([entry $($entry:tt)*])?
            ;
        )*
    ) => {
        $crate::pass_receipt_fields! {
            $selection $consumer
            { $(#[doc = $doc] $name: $type,)* }
            { $($name = $number,)* }
            { $($($($opening)* #[doc = $doc] $name: $type = $number,)?)* }
            { $($($name: $type = $number => $null $column [$($most)?],)?)* }
            { $($($name: $type = $number => $label_null $label_column [$($label_most)?],)?)* }
            { $($($($detail)* $name: $type,)?)* }
            { $($($($audit)* $name: $type,)?)* }
            { $($($($log)* #[doc = $doc] $name: $type,)?)* }
            { $($($($entry)* #[doc = $doc] $name: $type,)?)* }
        }
    };
}

/// Calls the consumer with one selection: the block at its position.
#[doc(hidden)]
#[macro_export]
macro_rules! pass_receipt_fields {
    (all $consumer:ident $fields:tt $($rest:tt)*) => { $consumer! $fields };
    (number $consumer:ident $_1:tt $fields:tt $($rest:tt)*) => { $consumer! $fields };
    (opening $consumer:ident $_1:tt $_2:tt $fields:tt $($rest:tt)*) => { $consumer! $fields };
    (column $consumer:ident $_1:tt $_2:tt $_3:tt $fields:tt $($rest:tt)*) => { $consumer! $fields };
    (label $consumer:ident $_1:tt $_2:tt $_3:tt $_4:tt $fields:tt $($rest:tt)*) => { $consumer! $fields };
    (detail $consumer:ident $_1:tt $_2:tt $_3:tt $_4:tt $_5:tt $fields:tt $($rest:tt)*) => { $consumer! $fields };
    (audit $consumer:ident $_1:tt $_2:tt $_3:tt $_4:tt $_5:tt $_6:tt $fields:tt $($rest:tt)*) => { $consumer! $fields };
    (log $consumer:ident $_1:tt $_2:tt $_3:tt $_4:tt $_5:tt $_6:tt $_7:tt $fields:tt $($rest:tt)*) => {
        $consumer! $fields
    };
    (entry $consumer:ident $_1:tt $_2:tt $_3:tt $_4:tt $_5:tt $_6:tt $_7:tt $_8:tt $fields:tt) => { $consumer! $fields };
}
