// Sorting by a column and filtering by text, for the table of shapes.
const table = document.getElementById('shapes');
const body = table.tBodies[0];

function key(row, at) {
  const cell = row.cells[at];
  const value = cell.dataset.v;
  if (value === undefined) return cell.textContent;
  return value === '' ? -Infinity : Number(value);
}

table.querySelectorAll('th button').forEach((button, at) => button.addEventListener('click', () => {
  const down = button.dataset.down !== '1';
  button.dataset.down = down ? '1' : '0';
  const order = (x, y) => (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  [...body.rows].sort((a, b) => order(key(a, at), key(b, at))).forEach(row => body.append(row));
}));

document.getElementById('filter').addEventListener('input', event => {
  const word = event.target.value.toLowerCase();
  for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(word);
});
