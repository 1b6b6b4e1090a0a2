//! The attribute `operations`, from which the registration of an algorithm's operations on Burn's fusion backends and
//! their parity suite follow.
//!
//! `declaration` reads and checks the trait, `fusion` and `suite` generate code from what it returns.

mod declaration;
mod fusion;
mod suite;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Ident, ItemTrait, parse_macro_input};

/// Declares the operations of an algorithm: applied to a trait whose methods have default bodies of tensor operations.
///
/// ```ignore
/// #[operations(toy)]
/// pub trait ToyOps: DeviceLimits {
///     /// Sums of the rows of `matrix` `[n, m]`: `[n]`.
///     #[output([matrix.shape()[0]], matrix.dtype())]
///     fn toy_sums(matrix: FloatTensor<Self>) -> FloatTensor<Self> {
///         tensor::sums::<Self>(matrix)
///     }
/// }
/// ```
///
/// `#[operations(toy)]` leaves the trait as it is and adds
///
/// - with the feature `fusion` of the algorithm's crate, the trait's implementation for `Fusion<B>` where `B`
///   implements it: operations are queued, and run on `B` later. The crate depends on `burn` and `burn-fusion`;
/// - for tests and with the feature `parity`, `Suite<B>`, a struct with the implementations under test: a name, and for
///   each operation a function pointer, called as the method without `toy_`. `Suite::backend()` has those of `B`,
///   `Suite::tensor_operations()` the default bodies.
///
/// A method that returns tensors has one `#[output(shape, dtype)]` for each of them, in order. `shape` is an array of
/// dimensions or an expression of a `Shape`; both expressions may use the arguments and `DType`, and are evaluated when the
/// operation is queued.
///
/// | argument | in the queue |
/// |---|---|
/// | `FloatTensor<Self>`, `IntTensor<Self>`, an `Option` of these | a tensor |
/// | `T<Self>`, `&T<Self>`, where `T<Fusion<B>>` implements `firebox_backends::fusion::Operand<B>` | its tensors |
/// | `&[T]` | copied |
/// | any other type without references and `Self` | cloned |
///
/// At least one argument is a tensor or a struct of tensors. A result is `FloatTensor<Self>`, `IntTensor<Self>`, a
/// struct of float tensors that implements `firebox_backends::fusion::Results`, or a tuple of these.
///
/// A method with `#[forward]` takes no tensors, and is called on `B` at once; one without an attribute keeps its
/// default body. Neither is part of the suite.
///
/// # Errors
/// A declaration against these rules is an error of compilation at its place.
#[proc_macro_attribute]
pub fn operations(prefix: TokenStream, item: TokenStream) -> TokenStream {
    let prefix = parse_macro_input!(prefix as Ident);
    let mut item = parse_macro_input!(item as ItemTrait);
    let generated = match declaration::take(&mut item, &prefix.to_string()) {
        Ok(operations) => {
            let fusion = fusion::implementation(&item.ident, &operations);
            let suite = suite::definition(&item.ident, &operations.queued);
            quote!(#fusion #suite)
        }
        Err(error) => error.to_compile_error(),
    };
    quote!(#item #generated).into()
}
