-- A module: `require "moons"` finds it in a folder that the environment's `modules` names.
return {
    luna = { name = "Luna", planet = "Earth", radius_km = 1737.4 },
    phobos = { name = "Phobos", planet = "Mars", radius_km = 11.1 },
    titan = { name = "Titan", planet = "Saturn", radius_km = 2574.7 },
}
