use syn::parse_quote;

use super::*;

/// Returns the message of the error in a trait with this method.
fn refusal(method: &str) -> String {
    let method: TraitItemFn = syn::parse_str(method).unwrap();
    let mut item: ItemTrait = parse_quote!(trait ToyOps: Backend { #method });
    let error = take(&mut item, "toy").err().map(|error| error.to_string());
    let text = item.to_token_stream().to_string();
    assert!(!text.contains("output") && !text.contains("forward"), "attributes are left in {text}");
    error.unwrap_or_default()
}

#[test]
fn attributes_are_taken_off_and_methods_sorted_by_them() {
    let mut item: ItemTrait = parse_quote! {
        trait ToyOps: Backend {
            const LIMIT: usize = 3;

            #[forward]
            fn toy_strategy(device: &Self::Device, limit: usize) -> Result<&'static str> {
                Ok("tensor operations")
            }

            /// Kept.
            #[output([x.shape()[0], 2], x.dtype())]
            #[inline]
            #[output(x.shape(), DType::I32)]
            fn toy_pairs(mut x: FloatTensor<Self>, rows: &[u32]) -> (FloatTensor<Self>, IntTensor<Self>) {
                tensor::pairs::<Self>(x, rows)
            }

            fn toy_pairs_into(x: FloatTensor<Self>, spare: Spare<Self>) -> (FloatTensor<Self>, IntTensor<Self>) {
                Self::toy_pairs(x, &[])
            }
        }
    };
    let Operations { queued, forwarded } = take(&mut item, "toy").unwrap();
    let [forwarded] = forwarded.as_slice() else { panic!("{} forwarded operations", forwarded.len()) };
    assert!(forwarded.signature.ident == "toy_strategy");
    assert_eq!(forwarded.arguments, ["device", "limit"]);

    let [pairs] = queued.as_slice() else { panic!("{} queued operations", queued.len()) };
    assert!(pairs.short == "pairs" && pairs.signature.ident == "toy_pairs");
    let arguments: Vec<_> = pairs.arguments.iter().map(|it| (it.name.to_string(), it.role)).collect();
    assert_eq!(arguments, [("x".into(), Role::Float), ("rows".into(), Role::Slice)]);
    assert!(pairs.results.iter().map(|(role, _)| *role).eq([Role::Float, Role::Int]));
    let outputs = pairs.outputs.iter().flat_map(|output| [&output.shape, &output.dtype]);
    let outputs: Vec<String> = outputs.map(|it| it.to_token_stream().to_string().replace(' ', "")).collect();
    assert_eq!(outputs, ["[x.shape()[0],2]", "x.dtype()", "x.shape()", "DType::I32"]);

    let attributes = item.items.iter().map(|member| match member {
        TraitItem::Fn(function) => function.attrs.len(),
        _ => 0,
    });
    assert!(attributes.eq([0, 0, 2, 0]), "other members and attributes are kept");
}

#[test]
fn roles_follow_from_types() {
    for (ty, expected) in [
        ("FloatTensor<Self>", Some(Role::Float)),
        ("burn::tensor::ops::IntTensor<Self>", Some(Role::Int)),
        ("Option<FloatTensor<Self>>", Some(Role::FloatOption)),
        ("Option<IntTensor<Self>>", Some(Role::IntOption)),
        ("Problem<Self>", Some(Role::Struct)),
        ("&Problem<Self>", Some(Role::StructRef)),
        ("&[u32]", Some(Role::Slice)),
        ("usize", Some(Role::Value)),
        ("[f64; 2]", Some(Role::Value)),
        ("(usize, f64)", Some(Role::Value)),
        ("Option<usize>", Some(Role::Value)),
        ("Range<usize>", Some(Role::Value)),
        ("Selfish", Some(Role::Value)),
        ("&mut Problem<Self>", None),
        ("&FloatTensor<Self>", None),
        ("&Extent", None),
        ("&mut [u32]", None),
        ("&[FloatTensor<Self>]", None),
        ("Vec<FloatTensor<Self>>", None),
        ("Option<Problem<Self>>", None),
        ("Pair<Self, f32>", None),
        ("Self::Device", None),
    ] {
        assert_eq!(role(&syn::parse_str(ty).unwrap()), expected, "{ty}");
    }
}

#[test]
fn wrong_declarations_are_refused() {
    for (method, expected) in [
        ("#[output([1], t)] fn toy_a(x: IntTensor<Self>) -> IntTensor<Self>;", "needs a default body"),
        ("#[forward] fn toy_a(n: usize) -> usize;", "needs a default body"),
        ("fn toy_a(n: usize) -> usize;", "needs a default body"),
        ("#[output([1], t)] fn toy_a(&self, x: IntTensor<Self>) -> IntTensor<Self> {}", "no `self`"),
        ("#[forward] fn toy_a(self) -> usize {}", "no `self`"),
        ("#[output([1], t)] fn toy_a(_: IntTensor<Self>) -> IntTensor<Self> {}", "not patterns"),
        ("#[output([1], t)] fn toy_a<T>(x: IntTensor<Self>) -> IntTensor<Self> {}", "generic"),
        ("#[output([1], t)] fn a(x: IntTensor<Self>) -> IntTensor<Self> {}", "begin with `toy_`"),
        ("#[output([1], t)] fn toy_a(x: &IntTensor<Self>) -> IntTensor<Self> {}", "an argument of"),
        ("#[output([1], t)] fn toy_a(n: usize) -> IntTensor<Self> {}", "has a tensor among its arguments"),
        ("#[output([1], t)] fn toy_a(x: IntTensor<Self>) {}", "returns tensors"),
        ("#[output([1], t)] fn toy_a(x: IntTensor<Self>) -> Result<IntTensor<Self>> {}", "a result of"),
        ("#[output([1])] fn toy_a(x: IntTensor<Self>) -> IntTensor<Self> {}", "expected `,`"),
        ("#[output([1], t)] #[forward] fn toy_a(x: IntTensor<Self>) -> IntTensor<Self> {}", "without `output`"),
        ("#[forward] #[forward] fn toy_a(n: usize) -> usize {}", "used once"),
        ("#[forward(n)] fn toy_a(n: usize) -> usize {}", "unexpected token"),
        ("#[forward] fn toy_a(x: Option<IntTensor<Self>>) -> usize {}", "takes no tensors"),
    ] {
        let message = refusal(method);
        assert!(message.contains(expected), "{method}: {message}");
    }
}

#[test]
fn numbers_of_outputs_and_returned_tensors_agree() {
    for (ty, accepted) in [
        ("IntTensor<Self>", [true, false, false]),
        ("(IntTensor<Self>, FloatTensor<Self>)", [false, true, false]),
        ("Pair<Self>", [true, true, true]), // A struct has any number of tensors.
        ("(Pair<Self>, FloatTensor<Self>)", [false, true, true]),
    ] {
        for (count, accepted) in (1..).zip(accepted) {
            let outputs = "#[output([1], t)] ".repeat(count);
            let message = refusal(&format!("{outputs} fn toy_a(x: IntTensor<Self>) -> {ty} {{}}"));
            let expected = if accepted { String::new() } else { format!("attributes `output`: {count}") };
            assert!(message.ends_with(&expected) && message.is_empty() == accepted, "{ty}: {message}");
        }
    }
}
