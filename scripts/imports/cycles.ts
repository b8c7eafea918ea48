/** Which files a file imports, types included. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/**
 * One cycle for each knot of files that import each other: the shortest through its first file by
 * name, as the list of files on the way. A file that imports itself is a cycle of one.
 */
export function findCycles(graph: ImportGraph): string[][] {
  const cycles: string[][] = [];
  const reported = new Set<string>();
  for (const file of [...graph.keys()].sort()) {
    if (reported.has(file)) continue;
    const cycle = shortestWayBack(graph, file);
    if (cycle === null) continue;
    cycles.push(cycle);
    for (const other of knotOf(graph, file)) reported.add(other);
  }
  return cycles;
}

/** The shortest path from a file along imports to itself, or null. */
function shortestWayBack(graph: ImportGraph, start: string): string[] | null {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const file of queue) {
    for (const next of graph.get(file) ?? []) {
      if (next === start) return pathTo(file, start, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, file);
      queue.push(next);
    }
  }
  return null;
}

function pathTo(last: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const path = [last];
  let file = last;
  while (file !== start) {
    file = cameFrom.get(file) ?? start;
    path.unshift(file);
  }
  return path;
}

/** All files that are reached from a file and reach it. */
function knotOf(graph: ImportGraph, start: string): string[] {
  return [...reachable(graph, start)].filter((file) => reachable(graph, file).has(start));
}

function reachable(graph: ImportGraph, start: string): ReadonlySet<string> {
  const seen = new Set([start]);
  for (const file of seen) for (const next of graph.get(file) ?? []) seen.add(next);
  return seen;
}
