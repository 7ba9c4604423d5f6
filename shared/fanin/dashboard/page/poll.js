// When the page asks again.

const LEAST = 2, // where the answer asks for no pause
  MOST = 25,
  SPREAD = 0.2; // seconds, seconds, share
export const SLOWER = 10, // answer times
  FOLLOWED = 60; // seconds until all of a batch is read again, whatever the looks of its stream find

// Seconds until the next poll: as the answer asks, at least ten answer times, twice as many after each failure;
// at most 30, spread by *chance* (0 to 1).
export function pause(asked, answerSeconds, failures, chance) {
  const wanted = Math.max(asked ?? LEAST, SLOWER * answerSeconds) * 2 ** Math.min(failures, 8);
  return Math.min(MOST, wanted) * (1 + SPREAD * chance);
}
