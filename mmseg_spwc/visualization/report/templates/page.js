'use strict';
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const touch = matchMedia('(hover: none)');
  const off = new Set();

  // the page's colours, as layout keys of plotly
  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const colour = name => style.getPropertyValue(name).trim();
    const axis = { gridcolor: colour('--grid'), linecolor: colour('--line'),
                   zerolinecolor: colour('--line') };
    const layout = {
      paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
      'font.color': colour('--ink'), 'font.family': 'system-ui, sans-serif',
      'hoverlabel.bgcolor': colour('--card'),
      'hoverlabel.font.color': colour('--ink'),
    };
    for (const name of ['xaxis', 'yaxis'])
      for (const key in axis) layout[`${name}.${key}`] = axis[key];
    return layout;
  };

  const shown = trace => !(trace.meta && off.has(trace.meta.group));

  const draw = async chart => {
    const figure = JSON.parse(chart.querySelector('script').textContent);
    for (const trace of figure.data) trace.visible = shown(trace);
    chart.replaceChildren();
    if (touch.matches) figure.layout.dragmode = false;  // a drag scrolls
    await Plotly.newPlot(chart, figure.data, figure.layout,
                         { responsive: true, displayModeBar: false });
    await Plotly.relayout(chart, theme());
    chart.dataset.drawn = 'yes';
  };

  // a chart is drawn when it comes near the window, and only once
  const watch = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries)
      if (isIntersecting) { watch.unobserve(target); draw(target); }
  }, { rootMargin: '600px' });
  for (const chart of document.querySelectorAll('.chart')) watch.observe(chart);

  const drawn = () => document.querySelectorAll('.chart[data-drawn]');

  const toggle = (group, on) => {
    if (on) off.delete(group); else off.add(group);
    for (const element of document.querySelectorAll('[data-group]'))
      if (element.dataset.group === group) element.hidden = !on;
    for (const chart of drawn()) {
      const places = chart.data.flatMap((trace, i) =>
        trace.meta && trace.meta.group === group ? [i] : []);
      if (places.length) Plotly.restyle(chart, { visible: on }, places);
    }
  };
  for (const box of document.querySelectorAll('[data-toggle]')) {
    box.checked = true;  // browsers remember the last visit
    box.addEventListener('change', () =>
      toggle(box.dataset.toggle, box.checked));
  }

  dark.addEventListener('change', () => {
    for (const chart of drawn()) Plotly.relayout(chart, theme());
  });

  // missing values stay at the end in either direction
  const compare = (a, b, sign) => {
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? 1 : -1;
    return sign * (typeof a === 'string' ? a.localeCompare(b) : a - b);
  };

  const value = (row, column) => {
    const cell = row.cells[column];
    if (column === 0) return cell.textContent.trim();
    return 'value' in cell.dataset ? Number(cell.dataset.value) : null;
  };

  const sort = heading => {
    const table = heading.closest('table');
    const column = heading.cellIndex;
    const first = column === 0 ? 'ascending' : 'descending';
    const other = column === 0 ? 'descending' : 'ascending';
    const order = heading.getAttribute('aria-sort') === first ? other : first;
    for (const h of heading.parentElement.cells) h.setAttribute('aria-sort', 'none');
    heading.setAttribute('aria-sort', order);
    const sign = order === 'ascending' ? 1 : -1;
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort((a, b) =>
      compare(value(a, column), value(b, column), sign)));
  };
  for (const button of document.querySelectorAll('thead button'))
    button.addEventListener('click', () => sort(button.closest('th')));
})();
