//! One numbered running version of a site, and what it shares with the one before.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::endpoint::option::concurrency::ConcurrencyLimit;
use crate::endpoint::route_table::RouteTable;
use crate::endpoint::{Action, Endpoint};
use crate::environment::api::ProcessHost;
use crate::environment::gate::Gate;
use crate::environment::pool::Pool;
use crate::environment::settings::Environment;
use crate::logging::router::Router;
use crate::site::Site;

/// One numbered running version of a site. Building starts nothing; dropping it undoes all that building did.
pub struct Generation {
    /// Its number, from 1.
    pub number: u64,
    /// What it serves.
    pub site: Arc<Site>,
    /// Which endpoint answers what.
    pub routes: RouteTable<Arc<LiveEndpoint>>,
    /// Every pool, in the order of the site's environments.
    pub pools: Vec<Arc<Pool>>,
    /// Who hears what.
    pub router: Arc<Router>,
    /// The logger of the server's own records.
    pub logger: slog::Logger,
    gates: HashMap<Arc<str>, Arc<Gate>>,
}

/// An endpoint with its live parts.
pub struct LiveEndpoint {
    /// The endpoint.
    pub endpoint: Arc<Endpoint>,
    /// The pool of its environment, when it runs a script.
    pub pool: Option<Arc<Pool>>,
    /// Its concurrency limit and queue.
    pub gate: Option<Arc<EndpointGate>>,
}

/// Keeps an endpoint's `concurrency`: so many run, so many wait. It lives over reloads that do not change the limit.
pub struct EndpointGate {
    /// Permits to run; first come, first served.
    pub running: Arc<Semaphore>,
    /// How many wait now.
    pub waiting: AtomicUsize,
    /// The limits.
    pub limit: ConcurrencyLimit,
}

/// The gates of environments by name; they outlive generations, so that `max-runspaces` holds across a reload.
#[derive(Default)]
pub struct Gates(Mutex<HashMap<Arc<str>, Arc<Gate>>>);

impl Gates {
    fn get(&self, name: &Arc<str>) -> Arc<Gate> {
        self.0.lock().entry(name.clone()).or_insert_with(Gate::new).clone()
    }

    /// Forgets environments that no generation has any more.
    fn prune(&self) {
        self.0.lock().retain(|_, gate| Arc::strong_count(gate) > 1);
    }
}

impl Generation {
    /// Builds everything a site needs, taking over from `previous` what did not change.
    ///
    /// # Errors
    /// The machine refused something the site asks for.
    pub fn build(
        number: u64,
        site: Arc<Site>,
        previous: Option<&Generation>,
        gates: &Gates,
        process: &Arc<ProcessHost>,
    ) -> io::Result<Self> {
        let before = previous.map(|previous| &*previous.router);
        let router = Arc::new(Router::build(&site.logging, before, site.secret_values.clone())?);
        let logger = router.logger();
        gates.prune();
        let environments: HashMap<Arc<str>, Arc<Gate>> =
            site.environments.iter().map(|one| (one.name.clone(), gates.get(&one.name))).collect();
        let pool = |environment: &Arc<Environment>| {
            let known = previous.and_then(|previous| previous.pool_of(environment));
            let gate = environments[&environment.name].clone();
            known.unwrap_or_else(|| Pool::build(environment.clone(), gate, process.clone(), &logger))
        };
        let pools: Vec<Arc<Pool>> = site.environments.iter().map(pool).collect();
        let live = |endpoint: &Arc<Endpoint>| {
            let live = LiveEndpoint {
                endpoint: endpoint.clone(),
                pool: pool_for(endpoint, &pools),
                gate: endpoint.concurrency.map(|limit| endpoint_gate(endpoint, limit, previous)),
            };
            (endpoint.pattern.clone(), endpoint.methods.clone(), Arc::new(live))
        };
        let routes = RouteTable::build(site.endpoints.iter().map(live));
        Ok(Self { number, site, routes, pools, router, logger, gates: environments })
    }

    /// Makes the limits of this generation the ones in force; called at the swap.
    pub fn activate(&self, process: &ProcessHost) {
        for pool in &self.pools {
            let environment = pool.environment();
            if let Some(gate) = self.gates.get(&environment.name) {
                gate.set_limits(environment);
            }
        }
        process.generation.store(self.number, Ordering::Relaxed);
    }

    /// The pool of an environment that is equal, so that its warm runspaces stay.
    fn pool_of(&self, environment: &Environment) -> Option<Arc<Pool>> {
        self.pools.iter().find(|pool| **pool.environment() == *environment).cloned()
    }
}

fn pool_for(endpoint: &Endpoint, pools: &[Arc<Pool>]) -> Option<Arc<Pool>> {
    let Action::Script { environment, .. } = &endpoint.action else {
        return None;
    };
    pools.iter().find(|pool| pool.environment().name == *environment).cloned()
}

/// The gate of an endpoint: that of the generation before when route and limit are the same.
fn endpoint_gate(endpoint: &Endpoint, limit: ConcurrencyLimit, previous: Option<&Generation>) -> Arc<EndpointGate> {
    let same = |live: &&Arc<LiveEndpoint>| {
        live.endpoint.pattern == endpoint.pattern && live.endpoint.methods == endpoint.methods
    };
    let before = previous.and_then(|previous| previous.routes.entries().iter().find(same));
    let known = before.and_then(|live| live.gate.clone()).filter(|gate| gate.limit == limit);
    known.unwrap_or_else(|| {
        let running = Arc::new(Semaphore::new(limit.limit));
        Arc::new(EndpointGate { running, waiting: AtomicUsize::new(0), limit })
    })
}
