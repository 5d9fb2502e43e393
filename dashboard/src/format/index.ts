export * from "./dates";
export * from "./numbers";
export { ownZone, setZone, useZone, zone, zoneLabel } from "./zone";
