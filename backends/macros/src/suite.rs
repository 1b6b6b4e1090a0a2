//! The parity suite: function pointers to the implementations of all queued operations on one backend.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Ident, Path, TypeBareFn, parse_quote,
    visit_mut::{VisitMut, visit_path_mut},
};

use crate::declaration::Queued;

/// Replaces `Self` by `B` in types.
struct OnB;

impl VisitMut for OnB {
    fn visit_path_mut(&mut self, path: &mut Path) {
        if let Some(first) = path.segments.first_mut().filter(|first| first.ident == "Self") {
            first.ident = Ident::new("B", first.ident.span());
        }
        visit_path_mut(self, path);
    }
}

/// Defines `Suite` for the queued operations of the trait `ops`.
pub(crate) fn definition(ops: &Ident, queued: &[Queued]) -> TokenStream {
    let short: Vec<&Ident> = queued.iter().map(|operation| &operation.short).collect();
    let names: Vec<&Ident> = queued.iter().map(|operation| &operation.signature.ident).collect();
    let docs = names.iter().map(|name| format!("[`{ops}::{name}`]."));
    let types = queued.iter().map(|Queued { arguments, signature, .. }| {
        let arguments = arguments.iter().map(|argument| &argument.ty);
        let output = &signature.output;
        let mut pointer: TypeBareFn = parse_quote!(fn(#(#arguments),*) #output);
        OnB.visit_type_bare_fn_mut(&mut pointer);
        pointer
    });
    let bodies = queued.iter().map(|operation| {
        let (mut signature, body) = (operation.signature.clone(), &operation.body);
        signature.ident = operation.short.clone();
        quote!(#signature #body)
    });
    let cfg = quote!(#[cfg(any(test, feature = "parity"))]);
    quote! {
        /// The implementations of the operations under test on one backend.
        #cfg
        #[derive(Clone)]
        #[allow(clippy::type_complexity)] // The operations' own signatures.
        pub struct Suite<B: #ops> {
            /// Name in tests.
            pub name: &'static str,
            #(#[doc = #docs] pub #short: #types,)*
        }

        #cfg
        impl<B: #ops> Suite<B> {
            /// Name of the backend's own implementations.
            pub const KERNELS: &'static str = "kernels";

            /// The backend's own implementations.
            pub fn backend() -> Self {
                Self { name: Self::KERNELS, #(#short: B::#names,)* }
            }

            /// The default bodies on this backend.
            pub fn tensor_operations() -> Self {
                // The bodies once more, under names that no backend overrides.
                #[allow(clippy::too_many_arguments)] // The operations' own signatures.
                trait Bodies: #ops {
                    #(#bodies)*
                }
                impl<B: #ops> Bodies for B {}
                Self { name: "tensor operations", #(#short: <B as Bodies>::#short,)* }
            }
        }
    }
}
