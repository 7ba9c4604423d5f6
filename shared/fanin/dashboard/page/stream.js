// The stream of one batch: what the API shows of it, after each pause that it asks for.

const AGAIN_MS = 60000; // after a stream that was refused, or broke off

let source = null,
  followed = "",
  brokenAt = -Infinity;

// Follow *path*, and give each document to *look*; return whether there is a stream of it, until *broken* is called.
export function follow(path, look, broken) {
  if (path === followed) return Boolean(path);
  leave();
  if (!path || performance.now() < brokenAt + AGAIN_MS) return false;
  followed = path;
  source = new EventSource(path);
  source.onmessage = ({ data }) => look(JSON.parse(data));
  source.onerror = () => {
    brokenAt = performance.now();
    leave();
    broken();
  };
  return true;
}

export function leave() {
  source?.close();
  source = null;
  followed = "";
}
