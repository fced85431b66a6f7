"""The report in a real browser; needs selenium, chromium and its driver."""
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / 'test_visualization'))
from made_records import segmentation, write  # noqa: E402

from mmseg_spwc.visualization.report import (  # noqa: E402
    StepView,
    render,
    render_steps,
)
from mmseg_spwc.visualization.runs import compare, load_runs  # noqa: E402

pytestmark = pytest.mark.slow
FLAGS = ('--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
         '--disable-background-networking', '--disable-component-update',
         '--disable-sync', '--window-size=1200,900')


def scroll_through(driver):
    """Bring every chart near the window once, so that it is drawn."""
    charts = driver.find_elements('css selector', '.chart')
    for chart in charts:
        driver.execute_script('arguments[0].scrollIntoView()', chart)
        wait(lambda chart=chart: chart.get_attribute('data-drawn') == 'yes')
    return charts


def wait(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, 'timed out'
        time.sleep(.05)


def errors(driver):
    return [e for e in driver.get_log('browser') if e['level'] == 'SEVERE']


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    webdriver = pytest.importorskip('selenium.webdriver')
    chromium = shutil.which('chromium') or shutil.which('google-chrome')
    driver = shutil.which('chromedriver')
    if not chromium or not driver:
        pytest.skip('chromium or chromedriver is not installed')
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp('profile')
    for flag in (*FLAGS, f'--user-data-dir={profile}'):
        options.add_argument(flag)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    found = webdriver.Chrome(
        options, webdriver.ChromeService(executable_path=driver))
    yield found
    found.quit()


@pytest.fixture
def page(browser, tmp_path):
    """A report of two seeds of one method and one run of another."""
    records = [segmentation('RCIL+spWC', seed) for seed in (0, 1)]
    folders = [write(r, tmp_path / f'run{i}')
               for i, r in enumerate([*records, segmentation('MiB')])]
    runs, problems = load_runs(folders)
    path = tmp_path / 'report.html'
    path.write_text(render(compare(runs), None, problems), encoding='utf-8')
    browser.get(path.as_uri())
    return browser


def test_charts_are_drawn_without_an_error(page):
    charts = scroll_through(page)
    assert len(charts) >= 10
    for chart in charts:
        assert chart.find_elements('css selector', 'svg.main-svg')
    assert errors(page) == []


def test_hover_tells_the_numbers(page):
    scroll_through(page)
    chart = page.find_element('css selector',
                              'section[aria-labelledby="steps-0"] .chart')
    page.execute_script('Plotly.Fx.hover(arguments[0], '
                        '[{curveNumber: 1, pointNumber: 0}])', chart)
    wait(lambda: chart.find_elements('css selector', '.hovertext'))
    assert 'step 0: ' in chart.find_element('css selector', '.hovertext').text


def test_the_mouse_hovers_too(page):
    from selenium.webdriver import ActionChains
    scroll_through(page)
    chart = page.find_element('css selector',
                              'section[aria-labelledby="priority-0"] .chart')
    page.execute_script('arguments[0].scrollIntoView({block: "center"})',
                        chart)
    ActionChains(page).move_to_element(chart).perform()
    wait(lambda: chart.find_elements('css selector', '.hovertext'))
    text = chart.find_element('css selector', '.hovertext').text
    assert all(name in text for name in ('psi', 'eta', 'mu', 'v ='))


def test_a_run_that_is_switched_off_disappears(page):
    scroll_through(page)

    def shown():
        rows = page.find_elements('css selector', '[data-group="g1"]')
        traces = page.execute_script('''
            return [...document.querySelectorAll('.chart')].flatMap(c =>
              c.data.filter(t => t.meta && t.meta.group === 'g1')
               .map(t => t.visible))''')
        return [r.is_displayed() for r in rows if r.tag_name == 'tr'], traces

    box = page.find_element('css selector', '[data-toggle="g1"]')
    rows, traces = shown()
    assert rows[0] and traces and all(traces)
    box.send_keys(' ')  # by keyboard
    wait(lambda: not any(shown()[1]))
    assert not any(shown()[0])
    figures = page.find_elements('css selector', 'figure[data-group="g1"]')
    assert figures and not any(f.is_displayed() for f in figures)
    page.execute_script('scrollTo(0, 0)')
    box.click()
    wait(lambda: all(shown()[1]))
    assert shown()[0][0] and errors(page) == []


def test_the_table_sorts_by_mouse_and_keyboard(page):
    table = page.find_element('css selector', 'table.final')
    buttons = table.find_elements('css selector', 'thead button')

    def column(index):
        cells = table.find_elements('css selector',
                                    f'tbody tr td:nth-child({index + 1})')
        return [float(c.get_attribute('data-value')) for c in cells]

    page.execute_script('arguments[0].scrollIntoView({block: "center"})',
                        table)
    buttons[2].click()
    assert column(2) == sorted(column(2), reverse=True)
    buttons[2].send_keys('\n')
    assert column(2) == sorted(column(2))
    heading = table.find_elements('css selector', 'thead th')[2]
    assert heading.get_attribute('aria-sort') == 'ascending'


def test_twenty_classes_with_deviations_fit_beside_each_other(
        browser, tmp_path):
    names = ['background', 'potted plant', *(f'class {i}' for i in range(19))]
    runs = [write(segmentation('RCIL+spWC', seed, steps=6, base=16,
                               names=names), tmp_path / str(seed))
            for seed in (0, 1)]
    path = tmp_path / 'report.html'
    path.write_text(render(compare(load_runs(runs)[0])), encoding='utf-8')
    browser.set_window_size(1280, 900)
    browser.get(path.as_uri())
    table = browser.find_element('css selector', 'table.final')
    assert len(table.find_elements('css selector', 'thead th')) == 27
    assert browser.execute_script(
        'const box = arguments[0].parentElement;'
        'return box.scrollWidth <= box.clientWidth', table)
    assert '±' in table.text and 'potted plant' in table.text


def test_it_fits_a_phone_and_follows_the_theme(page):
    page.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', dict(
        width=390, height=800, deviceScaleFactor=1, mobile=True))
    page.refresh()
    scroll_through(page)
    width = 'return document.documentElement.scrollWidth'
    assert page.execute_script(width) <= 390
    ink = ('return document.querySelector(".chart[data-drawn]")'
           '.layout.font.color')
    light = page.execute_script(ink)
    page.execute_cdp_cmd('Emulation.setEmulatedMedia', dict(
        features=[dict(name='prefers-color-scheme', value='dark')]))
    wait(lambda: page.execute_script(ink) != light)
    page.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
    page.execute_cdp_cmd('Emulation.setEmulatedMedia', dict(features=[]))
    assert errors(page) == []


def test_the_slider_goes_through_the_steps(browser, tmp_path):
    views = [StepView(t, np.full((4, 4), t), [f'<i>c{i}</i>' for i in
                                              range(t + 1)],
                      [[40 * i] * 3 for i in range(t + 1)]) for t in range(3)]
    path = tmp_path / 'steps.html'
    path.write_text(
        render_steps('Try', np.zeros((4, 4, 3), np.uint8), views),
        encoding='utf-8')
    browser.get(path.as_uri())

    def shown():
        return [f.get_attribute('data-step') for f in browser.find_elements(
            'css selector', '.frame') if f.is_displayed()]

    slider = browser.find_element('id', 'step')
    assert shown() == ['2']
    slider.send_keys('\ue012')  # arrow left
    assert shown() == ['1']
    assert '<i>c1</i> 100 %' in browser.find_element('tag name', 'body').text
    assert errors(browser) == []
