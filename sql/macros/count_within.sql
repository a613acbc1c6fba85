-- How many percentages of a list lie in [low, high).
CREATE OR REPLACE MACRO count_within(percentages, low, high) AS
    len(list_filter(percentages, lambda x: x >= low AND x < high));
