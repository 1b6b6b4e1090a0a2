//! The implementation for `Fusion<B>`. For the operation of [`operations`](crate::operations)' example it is
//!
//! ```ignore
//! fn toy_sums(matrix: FloatTensor<Self>) -> FloatTensor<Self> {
//!     let shapes = vec![(Shape::new([matrix.shape()[0]]), matrix.dtype())];
//!     let mut call = Call::<B>::new("toy_sums");
//!     let matrix = call.tensor(matrix);
//!     call.register(
//!         shapes,
//!         move |tensors| {
//!             let result_0 = B::toy_sums(tensors.float(matrix));
//!             tensors.write_float(result_0);
//!         },
//!         |next| next(),
//!     )
//! }
//! ```
//!
//! Variables have spans of the macro's own scope (`Span::mixed_site`), so that they differ from arguments of the same
//! name. Code for an argument or a result is placed at its type, where the compiler then reports a missing `Operand`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Expr, Ident, Type, spanned::Spanned};

use crate::declaration::{Argument, Forwarded, Operations, Output, Queued, Role};

/// Implements the trait `ops` for `Fusion<B>`.
pub(crate) fn implementation(ops: &Ident, operations: &Operations) -> TokenStream {
    let queued = operations.queued.iter().map(queued);
    let forwarded = operations.forwarded.iter().map(|Forwarded { signature, arguments }| {
        let name = &signature.ident;
        quote!(#signature { B::#name(#(#arguments),*) })
    });
    quote! {
        #[cfg(feature = "fusion")]
        #[allow(clippy::clone_on_copy, unused_mut)] // The same code for arguments of any type.
        impl<B: ::burn_fusion::FusionBackend + #ops> #ops for ::burn_fusion::Fusion<B> {
            #(#forwarded)*
            #(#queued)*
        }
    }
}

/// Queues `B`'s operation with the tensors of the arguments; the other arguments move into it.
fn queued(operation: &Queued) -> TokenStream {
    let Queued { signature, arguments, outputs, results, .. } = operation;
    let (name, label) = (&signature.ident, signature.ident.to_string());
    let shapes = outputs.iter().map(|Output { shape, dtype }| match shape {
        Expr::Array(_) | Expr::Repeat(_) => quote!((::burn::tensor::Shape::new(#shape), #dtype)),
        shape => quote!((#shape, #dtype)),
    });
    let (queue, restored) = (arguments.iter().map(queue), arguments.iter().map(restored));
    let values: Vec<Ident> =
        (0..results.len()).map(|k| format_ident!("result_{k}", span = Span::mixed_site())).collect();
    let write = results.iter().zip(&values).map(|((role, ty), value)| write(*role, ty, value));
    let read = results.iter().map(|(role, ty)| read(*role, ty));
    // A single result, or a tuple.
    let (values, read) = match results.as_slice() {
        [_] => (quote!(#(#values)*), quote!(#(#read)*)),
        _ => (quote!((#(#values),*)), quote!((#(#read),*))),
    };
    quote_spanned! { Span::mixed_site() =>
        #signature {
            #[allow(unused_imports)]
            use ::burn::tensor::{DType, TensorMetadata as _};
            let shapes = ::std::vec![#(#shapes),*];
            let mut call = ::firebox_backends::fusion::Call::<B>::new(#label);
            #(#queue)*
            call.register(
                shapes,
                move |tensors| {
                    let #values = B::#name(#(#restored),*);
                    #(#write)*
                },
                |next| #read,
            )
        }
    }
}

/// Replaces an argument by its inputs of the call.
fn queue(Argument { name, ty, role }: &Argument) -> TokenStream {
    let span = ty.span().resolved_at(Span::mixed_site());
    match role {
        Role::Float | Role::Int => quote_spanned!(span => let #name = call.tensor(#name);),
        Role::FloatOption | Role::IntOption => {
            quote_spanned!(span => let #name = #name.map(|tensor| call.tensor(tensor));)
        }
        Role::Struct => {
            quote_spanned!(span => let #name = ::firebox_backends::fusion::Operand::queue(&#name, &mut call);)
        }
        Role::StructRef => {
            quote_spanned!(span => let #name = ::firebox_backends::fusion::Operand::queue(#name, &mut call);)
        }
        Role::Slice => quote_spanned!(span => let #name = #name.to_vec();),
        Role::Value => TokenStream::new(),
    }
}

/// Returns the argument on `B`, when the operation runs.
fn restored(Argument { name, ty, role }: &Argument) -> TokenStream {
    let span = ty.span().resolved_at(Span::mixed_site());
    match role {
        Role::Float => quote_spanned!(span => tensors.float(#name)),
        Role::Int => quote_spanned!(span => tensors.int(#name)),
        Role::FloatOption => quote_spanned!(span => #name.map(|input| tensors.float(input))),
        Role::IntOption => quote_spanned!(span => #name.map(|input| tensors.int(input))),
        Role::Struct => quote_spanned!(span => #name(tensors)),
        Role::StructRef => quote_spanned!(span => &#name(tensors)),
        Role::Slice => quote_spanned!(span => &#name),
        Role::Value => quote_spanned!(span => #name.clone()),
    }
}

/// Writes a result on `B`, when the operation runs.
fn write(role: Role, ty: &Type, value: &Ident) -> TokenStream {
    let span = ty.span().resolved_at(Span::mixed_site());
    match role {
        Role::Float => quote_spanned!(span => tensors.write_float(#value);),
        Role::Int => quote_spanned!(span => tensors.write_int(#value);),
        _ => quote_spanned! { span =>
            for tensor in ::firebox_backends::fusion::Results::<B>::split(#value) {
                tensors.write_float(tensor);
            }
        },
    }
}

/// Returns a result on `Fusion<B>`, when the operation has been queued.
fn read(role: Role, ty: &Type) -> TokenStream {
    let span = ty.span().resolved_at(Span::mixed_site());
    match role {
        Role::Float | Role::Int => quote_spanned!(span => next()),
        _ => quote_spanned!(span => <#ty as ::firebox_backends::fusion::Results<Self>>::join(next)),
    }
}
