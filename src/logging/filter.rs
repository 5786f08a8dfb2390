//! Which records a target takes: its level, features, scopes and endpoints.

use super::feature::{Feature, Level, Scope};

/// The filter of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// The least level; `off` takes nothing.
    pub level: Level,
    /// The features taken, as a set of bits.
    pub features: u8,
    /// Patterns of the endpoints whose records are taken; empty takes all, also records that belong to no endpoint.
    pub endpoints: Vec<glob::Pattern>,
}

impl Filter {
    /// Takes everything from this level up.
    pub fn from_level(level: Level) -> Self {
        Self::new(level, &[], &[])
    }

    /// Takes these features of these scopes; an empty list means all.
    pub fn new(level: Level, features: &[Feature], scopes: &[Scope]) -> Self {
        let bits = |all: u8, set: u8| if set == 0 { all } else { set };
        let features = features.iter().fold(0, |set, feature| set | feature.bit());
        let scopes = scopes.iter().fold(0, |set, scope| set | scope.features());
        Self { level, features: bits(u8::MAX, features) & bits(u8::MAX, scopes), endpoints: Vec::new() }
    }

    /// Whether level and feature fit, whatever the endpoint.
    pub fn may_take(&self, feature: Feature, level: Level) -> bool {
        level >= self.level && level < Level::Off && self.features & feature.bit() != 0
    }

    /// Whether a record of this endpoint (empty for none) passes the endpoint patterns.
    pub fn takes_endpoint(&self, endpoint: &str) -> bool {
        self.endpoints.is_empty()
            || (!endpoint.is_empty() && self.endpoints.iter().any(|pattern| pattern.matches(endpoint)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_off() {
        let filter = Filter::from_level(Level::Warning);
        assert!(filter.may_take(Feature::Api, Level::Error));
        assert!(filter.may_take(Feature::Api, Level::Warning));
        assert!(!filter.may_take(Feature::Api, Level::Info));
        assert!(!Filter::from_level(Level::Off).may_take(Feature::Server, Level::Critical));
        assert!(!Filter::from_level(Level::Off).may_take(Feature::Server, Level::Off));
    }

    #[test]
    fn features_and_scopes_both_decide() {
        let filter = Filter::new(Level::Trace, &[Feature::Api, Feature::Config], &[Scope::User]);
        assert!(filter.may_take(Feature::Api, Level::Info));
        assert!(!filter.may_take(Feature::Config, Level::Info));
        assert!(!filter.may_take(Feature::Script, Level::Info));
    }

    #[test]
    fn endpoint_patterns() {
        let mut filter = Filter::from_level(Level::Trace);
        assert!(filter.takes_endpoint(""));
        filter.endpoints = vec![glob::Pattern::new("/hook/*").unwrap()];
        assert!(filter.takes_endpoint("/hook/{id}"));
        assert!(filter.takes_endpoint("/hook/a/{*rest}"));
        assert!(!filter.takes_endpoint("/hello"));
        assert!(!filter.takes_endpoint(""));
    }
}
