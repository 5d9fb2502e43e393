//! The rules: patterns over text in lower case, with weights.
//!
//! Between words, `~` stands for a gap that may be empty, because spaced-out letters lose their spaces when they are
//! joined.

/// A rule and the weight of its evidence.
pub struct InjectionRule {
    pub name: &'static str,
    pub weight: f32,
    /// Empty for rules that are not matched by a pattern.
    pub pattern: &'static str,
}

const fn rule(name: &'static str, weight: f32, pattern: &'static str) -> InjectionRule {
    InjectionRule { name, weight, pattern }
}

/// Positions of the rules without a pattern.
pub const ENCODED_TEXT: usize = 0;
pub const HIDDEN_TEXT: usize = 1;
pub const INVISIBLE_CHARACTERS: usize = 2;

/// Words that ROT13 makes of those that injections need.
pub const ROTATED_WORDS: &str = "vtaber|qvfertneq|sbetrg|vafgehpgvba|cebzcg|flfgrz|erirny|olcnff|wnvyoernx";

/// Rules with the same name are languages or forms of one idea and stand together.
pub const RULES: &[InjectionRule] = &[
    rule("encoded_text", 0.4, ""),
    rule("hidden_text", 0.6, ""),
    rule("invisible_characters", 0.15, ""),
    rule(
        "ignore_instructions",
        0.65,
        "(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|neglect|do~not~follow|don't~follow|stop~following|pay~no~attention~to|discard|drop)~(?:(?:about|each|of|the|my|our|these|those|this|that|other|current|and)~){0,3}(?:all|any|every|everything|previous|previously|prior|earlier|above|preceding|former|initial|original|existing|past|system|safety|given|developer|your)~(?:(?:about|each|of|the|my|our|these|those|this|that|other|current|and|all|any|every|everything|previous|previously|prior|earlier|above|preceding|former|initial|original|existing|past|system|safety|given|developer|your)~){0,5}(?:instruct|prompt|directive|guideline|programming|training|told)",
    ),
    // Rules and orders are also those of games, linters and shops.
    rule(
        "ignore_instructions",
        0.45,
        "(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|neglect|do~not~follow|don't~follow|stop~following|pay~no~attention~to)~(?:(?:about|each|of|the|my|our|these|those|this|that|other|current|and)~){0,3}(?:all|any|every|everything|previous|previously|prior|earlier|above|preceding|former|initial|original|existing|past|system|safety|given|developer|your)~(?:(?:about|each|of|the|my|our|these|those|this|that|other|current|and|all|any|every|everything|previous|previously|prior|earlier|above|preceding|former|initial|original|existing|past|system|safety|given|developer|your)~){0,5}(?:rule|command|direction|order|constraint|restriction)",
    ),
    rule(
        "ignore_instructions",
        0.35,
        "(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|neglect|do~not~follow|don't~follow|stop~following|pay~no~attention~to)~(?:(?:the|these|those|this|that|my|our)~){0,2}(?:instructions|prompt|directives|guidelines)",
    ),
    rule(
        "ignore_instructions",
        0.55,
        "(?:ignore|disregard|forget)~(?:all~|everything~|anything~|what~|whatever~)(?:(?:you|was|were|have|has|been|that|of|the)~){0,4}(?:above|before|said|told|written|learned|(?:prior|previous|earlier)~(?:text|message|conversation|context|content|input|chat))",
    ),
    rule(
        "ignore_instructions",
        0.65,
        "(?:ignorier|vergiss|vergesst|vergessen|missacht|übergeh)[a-zäöüß]{0,4}~(?:(?:sie|bitte|alle|aller|alles|die|den|deine|deinen|ihre|bisherigen?|vorherigen?|vorigen?|obigen?|früheren?|vorangegangenen?)~){1,5}(?:anweisung|instruktion|regel|vorgabe|befehl|prompt|richtlinie)",
    ),
    rule(
        "ignore_instructions",
        0.65,
        "(?:ignore[rz]?|oublie[rz]?|néglige[rz]?|ne~tiens?~pas~compte~d)~(?:(?:de|des|toutes?|tous|les|tes|vos|ces|s)~){0,4}(?:instructions?|consignes?|règles?|directives?|ordres?)~(?:précédent|antérieur|ci~dessus|initial|données)",
    ),
    rule(
        "ignore_instructions",
        0.65,
        "(?:ignora|ignore|olvida|olvide|omite|descarta|esqueça|esquece|desconsidere|dimentica|trascura)[a-zé]{0,2}~(?:(?:todas?|todos?|tutte|tutti|as|os|las|los|le|gli|tus|sus|suas|tue|estas|que)~){0,4}(?:instrucciones|instruções|istruzioni|órdenes|ordens|ordini|reglas|regras|regole|indicaciones|indicazioni|directrices|diretrizes)~(?:anterior|previ|prévi|precedent|acima|sopra|iniciales|iniciais|iniziali|dadas)",
    ),
    rule(
        "ignore_instructions",
        0.65,
        "(?:negeer|vergeet)~(?:(?:alle|de|je|uw|vorige|eerdere|bovenstaande|voorgaande)~){1,4}(?:instructie|regel|opdracht|aanwijzing)|(?:zignoruj|ignoruj|zapomnij|pomiń)~(?:(?:o|wszystkie|wszystkich|poprzednie|poprzednich|wcześniejsze|wcześniejszych|powyższe)~){1,4}(?:instrukcj|poleceni|zasad|wytyczn)",
    ),
    rule(
        "ignore_instructions",
        0.65,
        "(?:про)?игнорируй(?:те)?~(?:(?:все|всё|свои|предыдущие|прошлые|прежние|вышеуказанные|эти)~){1,4}(?:инструкц|указани|правил|команд)|забудь(?:те)?~(?:(?:о|об|про|все|всё|всех|свои|предыдущие|предыдущих|прошлые|прежние)~){1,4}(?:инструкц|указани|правил|команд)",
    ),
    rule(
        "ignore_instructions",
        0.65,
        "(?:忽略|无视|忘记|忘掉|忽視|無視|不要遵守|不要理会)[^。\n]{0,8}(?:之前|以上|上面|先前|前面|所有|全部|系统|系統)[^。\n]{0,8}(?:指令|指示|提示|规则|規則|说明|命令|要求)|(?:以前|これまで|上記|前|すべて|全て)の?[^。\n]{0,8}(?:指示|命令|ルール|プロンプト|設定)[^。\n]{0,6}(?:無視|忘れ)|(?:이전|위의|앞의|모든)[^.\n]{0,8}(?:지시|명령|규칙|프롬프트)[^.\n]{0,8}(?:무시|잊)",
    ),
    rule(
        "ignore_instructions",
        0.6,
        r"(?:ignore|disregard|forget)~(?:(?:the|all|your|these|my|any)~){0,2}(?:rules|instructions|directions|guidelines|directives|orders)~(?:(?:from|given|you~got)~)?(?:above|before|earlier|so~far)|(?:ignore|disregard|stop~following)~(?:the~)?(?:developer|company|operator|system|user)(?:'s|s')~(?:instructions|prompt|rules|request|question|orders)",
    ),
    rule(
        "ignore_instructions",
        0.5,
        r"(?:instructions|prompt)~(?:above|before|so~far)?~?(?:were|are|is|was)~(?:now~)?(?:only~)?(?:a~test|obsolete|outdated|void|superseded|cancelled|no~longer~valid)\b",
    ),
    rule(
        "reveal_prompt",
        0.55,
        "(?:reveal|show|print|repeat|output|display|tell~me|give~me|share|leak|dump|disclose|expose|recite|echo|paste|copy|write~out|write~down|spell~out|return|extract|encode|what(?:'s|~is|~are|~was|~were))~(?:(?:me|us|the|your|all|of|its|full|entire|complete|exact|verbatim|whole|contents?|text)~){0,6}(?:system~(?:prompt|message|instruction)|(?:initial|hidden|original|secret|internal|developer|confidential|pre)~(?:prompt|instruction|system|message|rules|directive)|(?:prompt|instructions)~(?:you~(?:were|have~been)~given|above|verbatim|word~for~word))",
    ),
    rule(
        "reveal_prompt",
        0.5,
        "(?:repeat|print|output|copy|write|recite|echo|translate|summari[sz]e|encode)~(?:(?:back|out|me|to|the|all|of|everything|every|word|words|text|content|conversation|exactly|verbatim|that|is|was|written)~){1,7}(?:above|before~this|so~far~verbatim|prior~to~this|preceding~this|starting~with~(?:you~are|the~words))",
    ),
    rule(
        "reveal_prompt",
        0.55,
        "(?:zeig|nenn|verrat|gib|wiederhol|muestra|revela|repite|dime|montre|révèle|répète|affiche|mostra|rivela|ripeti|mostre|revele|repita|покажи|раскрой|повтори|pokaż|ujawnij|toon|onthul)[a-zéäöü]{0,3}~(?:[a-zéèêàäöüßñа-я']{1,9}~){0,4}(?:system~?prompt|systemanweisung|system~?anweisung|prompt~(?:del~sistema|do~sistema|di~sistema|système|systemowy)|instrucciones~(?:del~sistema|iniciales)|instructions~(?:système|initiales)|istruzioni~(?:di~sistema|iniziali)|instruções~(?:do~sistema|iniciais)|системн[а-я]{2,4}~(?:промпт|инструкц|подсказк)|systeemprompt)|(?:显示|告诉我|输出|重复|透露|顯示|重複)[^。\n]{0,10}(?:系统提示|系統提示|初始指令|系统指令|提示词)|システムプロンプト[^。\n]{0,6}(?:表示|教え|出力|見せ)",
    ),
    rule(
        "fake_role_marker",
        0.5,
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|?>|\[/?inst\]|<</?sys>>|<(?:system|assistant)(?:_prompt|_message|-prompt)?>|###? ?(?:system|new instructions?|system prompt)\b ?:?|\n ?\n? ?(?:system|assistant|developer) ?(?:prompt|message|override)? ?: ?(?:you|ignore|new|from|the|do|all|override|disregard|forget)",
    ),
    rule(
        "fake_prompt_end",
        0.4,
        r"(?:end~of~(?:the~)?(?:system~|initial~)?(?:prompt|instructions|context|document|input)\b|[-=#*]{3,} ?(?:end|new|begin|start)~(?:of~)?(?:the~)?(?:system|prompt|instructions?|user~input|session|conversation|context))",
    ),
    rule(
        "new_instructions",
        0.35,
        "(?:(?:here~are|follow|these~are|obey|execute)~(?:(?:your|my|the|only|these)~){0,3}(?:new|updated|real|actual|true|revised)~(?:instructions?|orders?|directives?|rules|task)|(?:new|updated|revised|real)~(?:system~)?(?:instructions?|directives?|orders?)~?[:=])",
    ),
    rule(
        "unrestricted_persona",
        0.6,
        "(?:you~are~now|you're~now|you~will~now|from~now~on~you|act~as|pretend~(?:to~be|you~are|you're)|roleplay~as|role~play~as|simulate|respond~as|behave~(?:as|like)|imagine~you~are|become)~[^\n]{0,80}(?:\\bdan\\b|do~anything~now|unrestricted|unfiltered|uncensored|jailbroken|amoral|without~(?:any~)?(?:restriction|filter|limitation|rule|censorship|ethic|guideline)|no~(?:restriction|filter|limitation|rule|ethic|guideline|moral)|not~bound~by|free~(?:of|from)~(?:all~|any~)?(?:restriction|rule|filter|limitation)|developer~mode|evil|has~no~(?:rules|limits))",
    ),
    rule(
        "unrestricted_persona",
        0.6,
        r"you~are~an?~(?:evil|unrestricted|uncensored|unfiltered|jailbroken|amoral)~(?:assistant|ai|model|bot|chatbot)|jailbroken~(?:version|assistant|ai|model|self)|(?:must|will|shall)~obey~(?:every|all|any)~(?:order|command|request)|comply~with~(?:every|all|any)~requests?\b",
    ),
    rule(
        "unrestricted_persona",
        0.5,
        r"if~you~had~no~(?:content~polic|rules|restrictions|guidelines|filters|limits)|if~your~(?:rules|restrictions|guidelines|filters)~(?:did~not|didn't)~exist|as~if~(?:the~|your~)?(?:moderation|safety|content~filter)[^\n]{0,30}(?:approved|disabled|off)\b",
    ),
    rule(
        "jailbreak_name",
        0.5,
        r"\bdo~anything~now\b|\b(?:dan|aim|stan|dude|god|sudo|dev|developer|jailbreak|unrestricted|opposite|chaos)~mode~(?:is~)?(?:enabled|activated|engaged|output|response|v?[0-9])|(?:enable|enter|activate|switch~to|turn~on|engage)~(?:the~)?(?:dan|aim|stan|dude|god|sudo|jailbreak|unrestricted|opposite)~mode|\bjailbr(?:eak|oken)~(?:yourself|the~model|prompt|chatgpt|claude|gemini|gpt)",
    ),
    // Telephones and frameworks have such modes, too.
    rule(
        "jailbreak_name",
        0.3,
        r"(?:enable|enter|activate|switch~to|turn~on|engage|in)~(?:the~)?(?:developer|debug|maintenance|admin|root)~mode",
    ),
    rule(
        "persona_switch",
        0.2,
        "(?:from~now~on~(?:you~(?:are|will|must|shall)|you're)|you~are~no~longer~(?:an?~)?(?:ai|assistant|chatgpt|claude|gpt|gemini|language)|you~are~now~(?:an?~|the~|my~|in~|called~|going)|stop~being~(?:an?~)?(?:ai|assistant)|pretend~(?:that~)?you~(?:are|have|can))",
    ),
    rule(
        "disable_safety",
        0.55,
        "(?:disable|deactivate|turn~off|switch~off|bypass|circumvent|evade|remove|override|get~around|ignore|suspend|without~regard~(?:to|for))~(?:(?:all|any|of|the|your|its|my|these|every|built~in|internal)~){0,4}(?:your~safety|safety~(?:rule|filter|guideline|polic|protocol|measure|check|feature|setting|train|mechanism|restriction|instruct|guardrail)|content~(?:polic|filter|moderat|restrict)|guardrail|safeguard|ethic|moral|moderation|censorship|restriction|alignment|usage~polic|filters?\\b)",
    ),
    rule(
        "disable_safety",
        0.55,
        r"(?:safety|security|content)~(?:protocol|guideline|rule|filter|polic|measure|restriction)[a-z]{0,3}~(?:(?:of|for)~[^\n]{1,30}~)?(?:are|is|have~been|has~been|do~not|does~not|don't)~(?:now~)?(?:suspended|disabled|lifted|switched~off|turned~off|apply|void)|restrictions~(?:of~this~[a-z]{1,12}~)?(?:are|have~been)~(?:lifted|removed|suspended)",
    ),
    rule(
        "forbid_refusal",
        0.35,
        "(?:do~not|don't|never|must~not|must~never|cannot|can't|you~may~not|without)~(?:(?:ever|to)~){0,2}(?:refus(?:e|ing)|declin(?:e|ing)|apologi[sz](?:e|ing)|break~character|moraliz|lectur|say~(?:that~)?(?:you~)?(?:can't|cannot|are~unable|no)|mention~(?:that~you~are~an~ai|your~(?:guidelines|rules|policy)|openai|anthropic))",
    ),
    rule(
        "conceal_from_user",
        0.5,
        "(?:do~not|don't|never|without)~(?:ever~)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|reveal(?:ing)?|alert(?:ing)?|notify(?:ing)?|show(?:ing)?|let(?:ting)?|ask(?:ing)?)~(?:(?:this|it|anything|about|that|to)~){0,4}(?:the~)?(?:user|human|customer|owner|operator)\\b",
    ),
    rule(
        "instruct_the_model",
        0.45,
        "(?:(?:attention|important|note|message|instructions?|hey|dear|hello)~(?:(?:to|for)~)?(?:(?:the|all|any|this)~){0,2}(?:ai|a\\.i\\.|llms?|language~models?|chatbots?|ai~(?:assistant|agent|model)s?|assistants?|gpt|chatgpt|claude|gemini|copilot)\\b~?[:,!-]|if~you~are~(?:an?~)?(?:ai|llm|language~model|large~language~model|chatbot|ai~(?:assistant|agent|model)|automated)\\b|when~(?:an?~)?(?:ai|llm|assistant|language~model|agent)~(?:reads?|processes|summari[sz]es|sees)~this)",
    ),
    rule(
        "instruct_the_model",
        0.3,
        r"(?:to~the~(?:ai|llm|model)~(?:reviewing|reading|processing|summari[sz]ing)|(?:attention|note~to)~(?:the~|all~|any~)?(?:ai|llm|model|assistant)|instructions?~for~(?:the~|all~|any~)?(?:ai|llm|coding~agents?|agents|assistant)|llm~instruction|ai~agents?~(?:that|who|which)|(?:the~)?assistant~must~(?:now|not|stop|always|never)|assistant,~(?:please~)?(?:when|ignore|do|send|tell|always|never))|when~the~user~asks~(?:for|about|you)|your~(?:real|actual|true|new)~(?:task|job|purpose|directive)~is",
    ),
    rule(
        "instruct_the_model",
        0.35,
        r"(?:tell|ask)~the~user~(?:that|to|for)~[^\n]{0,60}(?:credit~card|password|call|click|visit|verify|pay)|(?:print|show|list|reveal|output|include|display)~[^\n]{0,40}(?:api~keys?|your~context|your~configuration|configuration~you)\b",
    ),
    rule(
        "exfiltration",
        0.55,
        r"(?:send|post|forward|upload|e?mail|transmit|exfiltrate|leak|submit|append|encode|embed|include|put)~(?:[a-z']{1,12}~){0,6}(?:conversation|chat~history|message~history|previous~messages|credentials|api~keys?|passwords?|secrets|tokens|system~prompt|private~(?:data|key)|user(?:'s)?~data|environment~variables|\.env|contents?~of~(?:the~)?(?:file|inbox|mailbox|email))[^\n]{0,60}(?:https?://|\burl\b|webhook|endpoint|\bserver\b|image|markdown|@[a-z0-9-]{1,40}\.|attacker)",
    ),
    rule(
        "image_exfiltration",
        0.45,
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?&/][^)\s]{0,80}(?:\{|%7b|<|\$\(|\[|=(?:data|secret|prompt|conversation|history|summary|base64))",
    ),
    rule(
        "false_authority",
        0.25,
        "(?:(?:i~am|i'm|this~is|as)~(?:your|the|an?)~(?:developer|creator|administrator|admin|system~administrator|openai|anthropic|engineer|supervisor|owner)\\b|(?:openai|anthropic|google|microsoft|admin|system)~(?:has~)?(?:authori[sz]ed|override~(?:code|key)|granted|approved)|override~code|sudo~(?:mode|prompt))",
    ),
    rule(
        "hypothetical_frame",
        0.15,
        "(?:in~(?:a|this)~(?:fictional|hypothetical|imaginary)~(?:world|scenario|story|setting)|hypothetically~speaking|for~(?:educational|research|testing)~purposes~only|as~a~thought~experiment|my~(?:late|deceased|dead)~grandm)",
    ),
];
