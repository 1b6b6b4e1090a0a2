//! Validation of JSON against the part of JSON Schema that the schemas of reports use. An unknown keyword is a failure.

use serde_json::{Map, Value};

/// Keywords that describe a value and do not restrict it.
const ANNOTATIONS: [&str; 5] = ["$schema", "$defs", "title", "description", "format"];

/// Checks `value` against `schema`, whose definitions are those of `root`.
///
/// # Errors
/// The place of the first value that does not conform, and the reason.
pub fn validate(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let rules = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(rules) => rules,
        _ => return Err(format!("{value} is not permitted")),
    };
    rules.iter().try_for_each(|(keyword, rule)| {
        let conforms = match keyword.as_str() {
            keyword if ANNOTATIONS.contains(&keyword) => true,
            "$ref" => {
                let definition = rule.as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
                return validate(root, definition.ok_or_else(|| format!("{rule} is not defined"))?, value);
            }
            "type" => of(rule).any(|kind| is_of_type(value, kind.as_str().unwrap_or_default())),
            "const" => rule == value,
            "enum" => of(rule).any(|one| one == value),
            "minimum" => value.as_f64().is_none_or(|number| Some(number) >= rule.as_f64()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap_or(u64::MAX)),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap_or(0)),
            "required" => {
                value.as_object().is_none_or(|it| of(rule).all(|key| it.contains_key(key.as_str().unwrap_or(""))))
            }
            "anyOf" | "oneOf" => of(rule).any(|one| validate(root, one, value).is_ok()),
            "allOf" => return of(rule).try_for_each(|one| validate(root, one, value)),
            "items" => return of_array(value).try_for_each(|item| validate(root, rule, item)),
            "properties" => return properties(root, rule, value),
            "additionalProperties" => return others(root, rules.get("properties"), rule, value),
            _ => return Err(format!("the keyword {keyword} is unknown")),
        };
        if conforms { Ok(()) } else { Err(format!("{value} does not have {keyword} {rule}")) }
    })
}

/// Elements of a rule that is a list, or the rule.
fn of(rule: &Value) -> impl Iterator<Item = &Value> {
    rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice).iter()
}

fn of_array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    }
}

/// Checks the properties that `value` has and `schemas` knows.
fn properties(root: &Value, schemas: &Value, value: &Value) -> Result<(), String> {
    value.as_object().into_iter().flatten().try_for_each(|(key, value)| match schemas.get(key) {
        Some(schema) => validate(root, schema, value).map_err(|error| format!("{key}: {error}")),
        None => Ok(()),
    })
}

/// Checks the properties of `value` that are not among those `known`.
fn others(root: &Value, known: Option<&Value>, schema: &Value, value: &Value) -> Result<(), String> {
    let (empty, known) = (Map::new(), known.and_then(Value::as_object));
    let known = known.unwrap_or(&empty);
    let others = value.as_object().into_iter().flatten().filter(|(key, _)| !known.contains_key(*key));
    others.into_iter().try_for_each(|(key, value)| validate(root, schema, value).map_err(|it| format!("{key}: {it}")))
}
