//! The operations that a trait declares: its methods' attributes, arguments and results, checked.

use quote::ToTokens;
use syn::{
    Attribute, Block, Error, Expr, FnArg, GenericArgument, Ident, ItemTrait, Pat, PathArguments, Result, ReturnType,
    Signature, Token, TraitItem, TraitItemFn, Type,
    parse::{Parse, ParseStream},
};

/// The methods of a trait that have attributes.
#[derive(Default)]
pub(crate) struct Operations {
    /// Methods with `output`, which a fusion backend runs later.
    pub(crate) queued: Vec<Queued>,
    /// Methods with `forward`, which a fusion backend calls at once.
    pub(crate) forwarded: Vec<Forwarded>,
}

pub(crate) struct Queued {
    pub(crate) signature: Signature,
    pub(crate) body: Block,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) outputs: Vec<Output>,
    /// The result, or the elements of a tuple of results.
    pub(crate) results: Vec<(Role, Type)>,
    /// Name without the trait's prefix.
    pub(crate) short: Ident,
}

pub(crate) struct Forwarded {
    pub(crate) signature: Signature,
    pub(crate) arguments: Vec<Ident>,
}

pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) role: Role,
}

/// Treatment of an argument or a result by a fusion backend, which follows from its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// `FloatTensor<Self>`.
    Float,
    /// `IntTensor<Self>`.
    Int,
    /// `Option<FloatTensor<Self>>`.
    FloatOption,
    /// `Option<IntTensor<Self>>`.
    IntOption,
    /// Struct of tensors `T<Self>`.
    Struct,
    /// `&T<Self>`.
    StructRef,
    /// `&[T]`, copied.
    Slice,
    /// Any other type without tensors and references, cloned.
    Value,
}

/// Shape and type of a tensor that an operation returns: `#[output(shape, dtype)]`.
pub(crate) struct Output {
    pub(crate) shape: Expr,
    pub(crate) dtype: Expr,
}

impl Parse for Output {
    fn parse(input: ParseStream) -> Result<Self> {
        let shape = input.parse()?;
        input.parse::<Token![,]>()?;
        Ok(Self { shape, dtype: input.parse()? })
    }
}

/// Takes the attributes `output` and `forward` off the trait's methods, and returns the operations they declare.
///
/// # Errors
/// The first wrong declaration, at its place in the source. The attributes have been taken off nevertheless.
pub(crate) fn take(item: &mut ItemTrait, prefix: &str) -> Result<Operations> {
    let mut declared = Vec::new();
    for member in &mut item.items {
        if let TraitItem::Fn(function) = member {
            let is_own = |attribute: &Attribute| ["output", "forward"].iter().any(|own| attribute.path().is_ident(own));
            let (own, rest) = function.attrs.drain(..).partition::<Vec<_>, _>(is_own);
            function.attrs = rest;
            declared.push((own, function.clone()));
        }
    }
    let mut operations = Operations::default();
    for (attributes, TraitItemFn { sig, default, .. }) in declared {
        let Some(body) = default else {
            return error(&sig, "each method needs a default body of tensor operations, for backends without kernels");
        };
        let (forward, output): (Vec<_>, Vec<_>) =
            attributes.into_iter().partition(|own| own.path().is_ident("forward"));
        match (forward.as_slice(), output.as_slice()) {
            ([], []) => {}
            ([], outputs) => operations.queued.push(queued(sig, body, outputs, prefix)?),
            ([forward], []) => {
                forward.meta.require_path_only()?;
                operations.forwarded.push(forwarded(sig)?);
            }
            ([first, ..], _) => return error(first, "`forward` is used once, and without `output`"),
        }
    }
    Ok(operations)
}

fn queued(signature: Signature, body: Block, outputs: &[Attribute], prefix: &str) -> Result<Queued> {
    if !signature.generics.params.is_empty() {
        return error(&signature.generics, "a queued operation is generic over the backend only");
    }
    let name = signature.ident.to_string();
    let short = match name.strip_prefix(&format!("{prefix}_")) {
        Some(short) => Ident::new(short, signature.ident.span()),
        None => return error(&signature.ident, format!("names of queued operations begin with `{prefix}_`")),
    };

    let argument = |input| {
        let (name, ty) = named(input)?;
        let Some(role) = role(ty) else {
            return error(
                ty,
                "an argument of a queued operation is `FloatTensor<Self>`, `IntTensor<Self>`, an `Option` of these, \
                 a struct of tensors `T<Self>` or `&T<Self>`, a slice `&[T]`, or a value that is `Clone`",
            );
        };
        Ok(Argument { name: name.clone(), ty: ty.clone(), role })
    };
    let arguments = signature.inputs.iter().map(argument).collect::<Result<Vec<_>>>()?;
    if !arguments.iter().any(|it| matches!(it.role, Role::Float | Role::Int | Role::Struct | Role::StructRef)) {
        return error(&signature, "a queued operation has a tensor among its arguments");
    }

    let results = match &signature.output {
        ReturnType::Default => return error(&signature, "a queued operation returns tensors"),
        ReturnType::Type(_, ty) => match &**ty {
            Type::Tuple(tuple) if tuple.elems.len() > 1 => tuple.elems.iter().cloned().collect(),
            single => vec![single.clone()],
        },
    };
    let result = |ty: Type| match role(&ty) {
        Some(role @ (Role::Float | Role::Int | Role::Struct)) => Ok((role, ty)),
        _ => error(
            &ty,
            "a result of a queued operation is `FloatTensor<Self>`, `IntTensor<Self>`, a struct of float tensors \
             `T<Self>`, or a tuple of these",
        ),
    };
    let results = results.into_iter().map(result).collect::<Result<Vec<_>>>()?;
    // A struct has an unknown number of tensors, at least one.
    let has_struct = results.iter().any(|(role, _)| *role == Role::Struct);
    if outputs.len() < results.len() || outputs.len() > results.len() && !has_struct {
        let (count, least) = (results.len(), if has_struct { "at least " } else { "" });
        let message = format!("tensors returned: {least}{count}, attributes `output`: {}", outputs.len());
        return error(&signature.output, message);
    }
    let outputs = outputs.iter().map(Attribute::parse_args).collect::<Result<_>>()?;
    Ok(Queued { signature, body, arguments, outputs, results, short })
}

fn forwarded(signature: Signature) -> Result<Forwarded> {
    let mut arguments = Vec::new();
    for input in &signature.inputs {
        let (name, ty) = named(input)?;
        if !matches!(role(ty), None | Some(Role::Slice | Role::Value)) {
            return error(ty, "a forwarded operation takes no tensors; declare the operation's outputs instead");
        }
        arguments.push(name.clone());
    }
    Ok(Forwarded { signature, arguments })
}

/// Returns name and type of an argument.
fn named(input: &FnArg) -> Result<(&Ident, &Type)> {
    match input {
        FnArg::Receiver(receiver) => error(receiver, "operations belong to the backend's type and take no `self`"),
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(pattern) => Ok((&pattern.ident, &typed.ty)),
            other => error(other, "arguments of operations have names, not patterns"),
        },
    }
}

/// Returns the role of an argument or a result of type `ty`; `None` if it cannot be queued.
fn role(ty: &Type) -> Option<Role> {
    let plain = |role| (!mentions_self(ty)).then_some(role);
    if let Type::Reference(reference) = ty {
        return match &*reference.elem {
            _ if reference.mutability.is_some() => None,
            Type::Slice(_) => plain(Role::Slice),
            inner => (role(inner) == Some(Role::Struct)).then_some(Role::StructRef),
        };
    }
    let Some((name, inner)) = applied(ty) else { return plain(Role::Value) };
    match (name.to_string().as_str(), role(inner)) {
        ("FloatTensor", _) if is_self(inner) => Some(Role::Float),
        ("IntTensor", _) if is_self(inner) => Some(Role::Int),
        _ if is_self(inner) => Some(Role::Struct),
        ("Option", Some(Role::Float)) => Some(Role::FloatOption),
        ("Option", Some(Role::Int)) => Some(Role::IntOption),
        _ => plain(Role::Value),
    }
}

/// Splits a type `Name<Argument>`.
fn applied(ty: &Type) -> Option<(&Ident, &Type)> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(argument) if arguments.args.len() == 1 => Some((&last.ident, argument)),
        _ => None,
    }
}

fn is_self(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("Self"))
}

fn mentions_self(ty: &Type) -> bool {
    let text = ty.to_token_stream().to_string();
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "Self")
}

fn error<T>(place: impl ToTokens, message: impl std::fmt::Display) -> Result<T> {
    Err(Error::new_spanned(place, message))
}

#[cfg(test)]
mod tests;
