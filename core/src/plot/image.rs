//! File formats of plots.

use std::path::Path;

use crate::error::{Error, Place, Result};

/// A file format of plots, determined by the path's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// `.svg`: vector graphics.
    Svg,
    /// `.png`: a bitmap, two pixels per layout unit.
    Png,
}

impl Image {
    /// The format of `path` by its extension, ignoring case.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(Error::input_at(
                Place::file(path),
                "the name does not determine the format of the plot",
                "name the plot .svg or .png",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_determine_formats() {
        assert_eq!(Image::of(Path::new("a.SVG")).unwrap(), Image::Svg);
        assert_eq!(Image::of(Path::new("a.png")).unwrap(), Image::Png);
        let error = Image::of(Path::new("a.pdf")).unwrap_err();
        assert_eq!(error.to_string(), "a.pdf: the name does not determine the format of the plot");
    }
}
