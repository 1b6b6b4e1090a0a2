//! Which algorithms a program has.

use burn::tensor::backend::Backend;
use firebox_backends::Device;
use firebox_core::{Outcome, Plugin, Result};

use crate::Job;

/// The backend on which plugins are asked for their command lines; any would do.
pub type Listing = firebox_backends::backend::NdArray<f32>;

/// The algorithms there are on backend `B`.
pub trait Registry<B: Backend> {
    /// One plugin an algorithm, in the order of `--help`.
    fn plugins(&self) -> Vec<Box<dyn Plugin<B>>>;
}

/// Algorithms on every backend that is compiled in, and the program's name. [`firebox!`](crate::firebox) and
/// [`algorithms!`](crate::algorithms) write it.
///
/// Nothing here is generic, on purpose: who only calls it compiles no algorithm again.
pub trait Program {
    /// The program's name.
    fn name(&self) -> &'static str;

    /// One plugin an algorithm, in the order of `--help`, to be asked what it is like.
    fn listing(&self) -> Vec<Box<dyn Plugin<Listing>>>;

    /// Runs `job` on the backend of `device`.
    fn dispatch(&self, device: &Device, job: Job<'_>) -> Result<Option<Outcome>>;
}

/// Makes a type that lists algorithms: a [`Registry`] of every backend, and a [`Program`].
///
/// ```ignore
/// firebox_cli::algorithms! { pub struct Mine: firebox_ocnn::OcnnPlugin, my_crate::MyPlugin }
/// ```
#[macro_export]
macro_rules! algorithms {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident: $($plugin:ty),+ $(,)?) => {
        $(#[$attribute])*
        $visibility struct $name;

        impl<B: $crate::__private::Backend> $crate::Registry<B> for $name
        where
            $($plugin: $crate::Plugin<B> + 'static,)+
        {
            fn plugins(&self) -> ::std::vec::Vec<::std::boxed::Box<dyn $crate::Plugin<B>>> {
                ::std::vec![$(::std::boxed::Box::new(<$plugin as ::std::default::Default>::default())),+]
            }
        }

        impl $crate::Program for $name {
            fn name(&self) -> &'static str {
                ::std::option_env!("CARGO_BIN_NAME").unwrap_or("firebox")
            }

            fn listing(&self) -> ::std::vec::Vec<::std::boxed::Box<dyn $crate::Plugin<$crate::Listing>>> {
                $crate::Registry::plugins(self)
            }

            fn dispatch(
                &self,
                device: &$crate::__private::Device,
                job: $crate::Job<'_>,
            ) -> $crate::__private::Result<::std::option::Option<$crate::__private::Outcome>> {
                $crate::__private::with_backend!(device, job.precision(), |B, device| job.run::<B>(self, device))
            }
        }
    };
}

/// Makes a program of algorithms: its `main`, one line per algorithm.
///
/// Each is a type that implements `Default` and [`Plugin`](crate::Plugin) for every backend that is compiled in.
#[macro_export]
macro_rules! firebox {
    ($($plugin:ty),+ $(,)?) => {
        $crate::algorithms! { pub(crate) struct Algorithms: $($plugin),+ }

        fn main() -> ::std::process::ExitCode {
            $crate::run(&Algorithms)
        }
    };
}
