//! The macro that declares settings: generates the field, its default, its two names and its documentation.

/// Syntax: `/// doc` `field: Type = "yaml.path", "ENV_NAME", "default"[, check];` inside `/// doc` `section: Struct { …
/// }`. A check is a function `&Type -> Result<(), &'static str>` whose message continues "the value …".
macro_rules! declare {
    ($(
        $(#[doc = $section_doc:literal])+
        $section:ident: $structure:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $path:literal, $env:literal, $default:literal $(, $check:expr)?;
            )+
        }
    )+) => {
        $(
            $(#[doc = $section_doc])+
            #[derive(Clone, Debug)]
            pub struct $structure {
                $( $(#[doc = $doc])+ pub $field: $type, )+
            }

            impl $structure {
                fn read(reader: &mut Reader<'_>) -> Self {
                    Self { $( $field: reader.take($path, &[$($check)?]), )+ }
                }
            }
        )+

        /// All settings.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $( $(#[doc = $section_doc])+ pub $section: $structure, )+
            /// Provider instances, by name.
            pub providers: Vec<(Provider, ProviderSource)>,
            /// Documents of the file below `resources`.
            pub resources: FileResources,
            /// The origin of each setting, in the order of the table.
            pub sources: Vec<SettingOrigin>,
            /// The YAML file that was read.
            pub config_file: Option<PathBuf>,
            /// Probable mistakes that are not faults.
            pub warnings: Vec<String>,
        }

        impl Settings {
            pub(super) fn read(reader: &mut Reader<'_>) -> Self {
                Self {
                    $( $section: $structure::read(reader), )+
                    providers: Vec::new(),
                    resources: FileResources::default(),
                    sources: Vec::new(),
                    config_file: None,
                    warnings: Vec::new(),
                }
            }
        }

        /// All sections, in the order of the documentation.
        pub static SECTIONS: &[Section] =
            &[$( Section { name: stringify!($section), doc: concat!($($section_doc),+) } ),+];

        /// All settings, in the order of the documentation.
        pub static TABLE: &[Setting] = &[$($(
            Setting {
                path: $path,
                env: $env,
                default: $default,
                doc: concat!($($doc),+),
                kind: <$type as Value>::KIND,
                secret: <$type as Value>::SECRET,
                structured: <$type as Value>::STRUCTURED,
            },
        )+)+];
    };
}

pub(super) use declare;
